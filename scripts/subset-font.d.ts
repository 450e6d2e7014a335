declare module 'subset-font' {
  interface Options {
    readonly targetFormat: 'woff2'
    /** The range of an axis that stays, or its only value. */
    readonly variationAxes: Readonly<Record<string, number | { readonly min: number; readonly max: number }>>
    /** OpenType's names of the features that stay. */
    readonly keepFeatures: readonly string[]
    readonly noHinting: boolean
  }
  export default function subsetFont(font: Uint8Array, text: string, options: Options): Promise<Uint8Array>
}
