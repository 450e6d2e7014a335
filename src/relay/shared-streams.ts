/** The copy of one resumable stream that other nodes read. It never fails: what cannot be kept is not resumable there. */
export interface StreamCopy {
  /** Numbered events, in order. */
  append(bytes: Buffer): void
  /** Its first events are not kept any more: nobody can resume it. */
  drop(): void
  /** Its hold has ended. `whole`: the last event is in it; else it broke off. Kept for `retentionMs` from now on. */
  end(whole: boolean, retentionMs: number): void
}

/** Where nodes keep the streams that their clients may resume on another one. */
export interface SharedStreams {
  copy(stream: { readonly generationId: string; readonly accountId: string; readonly requestId: string }): StreamCopy
}
