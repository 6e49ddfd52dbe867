/** A parameter that cannot be understood; the message begins with its name. */
export class BadParameter extends Error {
  override readonly name = 'BadParameter';
}
