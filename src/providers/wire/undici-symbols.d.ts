/** The names under which undici keeps what belongs to a connection. */
declare module 'undici/lib/core/symbols.js' {
  const symbols: { readonly kParser: symbol }
  export default symbols
}
