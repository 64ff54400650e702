/** Another epoch has the run: nothing more is written and nothing more is started. */
export class Fenced extends Error {
  override readonly name = "Fenced";
}
