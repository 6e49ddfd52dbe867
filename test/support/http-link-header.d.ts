/** The part of http-link-header that the tests use; it ships no types. */
declare module 'http-link-header' {
  export default class LinkHeader {
    static parse(value: string): LinkHeader;
    readonly refs: readonly { readonly uri: string; readonly rel: string; readonly [attribute: string]: string }[];
  }
}
