/** A reply that a limit cut, as its event says. */
export interface CutMark {
  /** The limit, in the word of the provider. */
  readonly limit: string;
  /** How many calls it proposed, whole or not. None of them runs. */
  readonly calls: number;
}
