/** A file that a `$ref` leads to. */
export interface Found {
  /** The same for one file, by whichever way it was reached. */
  readonly key: string;
  /** What relative `$ref`s within it are taken from. */
  readonly base: string;
}

/** Where the local files of a contract are: in a folder, or in a commit. All but `nameOf` throw a `Refusal`. */
export interface Store {
  /** What the path of a `$ref` means in the file at `base`. */
  locate(path: string, base: string): Found;
  nameOf(base: string): string;
  read(key: string): Uint8Array;
  /** Several of them will be read soon. */
  announce?(keys: readonly string[]): void;
}
