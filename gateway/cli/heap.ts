import { setFlagsFromString } from 'node:v8';

/**
 * Keeps the part of the heap in which objects are born as small as it is. A request leaves nothing behind, so a larger
 * one only means that its garbage lies around longer: it costs resident memory, and misses in the processor's caches.
 * It holds for the whole process, so it is for the program to decide and not for the library.
 */
export function keepYoungGenerationSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}
