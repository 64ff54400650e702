/**
 * Resolves the imports of agent files that lie where no packages are installed. Node's own resolution comes first; only
 * if it fails are `cairn-run` with its entry points, `zod` and `@ai-sdk/provider` resolved from cairn's own package.
 */
import { registerHooks } from "node:module";

const OURS = /^(cairn-run|cairn-run\/.+|zod|zod\/.+|@ai-sdk\/provider)$/;

let registered = false;

/** Registers the fallback. A composition root calls it before it loads agents; a second call does nothing. */
export function registerResolution(): void {
  if (registered) return;
  registered = true;
  registerHooks({
    resolve(specifier, context, next) {
      try {
        return next(specifier, context);
      } catch (error) {
        if (!OURS.test(specifier) || !isNotFound(error)) throw error;
        return { url: import.meta.resolve(specifier), shortCircuit: true };
      }
    },
  });
}

const isNotFound = (error: unknown): boolean =>
  error instanceof Error && "code" in error && /^(ERR_)?MODULE_NOT_FOUND$/.test(String(error.code));
