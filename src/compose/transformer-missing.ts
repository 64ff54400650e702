/** A file of the project needs a transformer that is not installed: what to type, wherever the error came from. */
import { TransformerMissing } from "../sdk/typescript/transformer.ts";
import { EXIT, UserError } from "./user-error.ts";

/** The error for the user, if this error or one of its causes is a missing transformer; otherwise null. */
export function transformerMissing(error: unknown): UserError | null {
  for (let each = error, depth = 0; each instanceof Error && depth < 10; each = each.cause, depth += 1) {
    if (!(each instanceof TransformerMissing)) continue;
    const { code, place, syntax, next } = each;
    return new UserError(
      {
        code,
        exit: EXIT.usage,
        next,
        what: `${place} has ${syntax}, which Node cannot run as it is`,
        why: "cairn transforms such files with esbuild, and it is not installed; nothing was started",
      },
      { cause: error },
    );
  }
  return null;
}
