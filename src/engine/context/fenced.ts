/** Thrown when another epoch holds the run. This invocation then writes nothing more and starts nothing more. */
export class Fenced extends Error {
  override readonly name = "Fenced";
}
