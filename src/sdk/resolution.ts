/**
 * An agent file may lie anywhere, also where nothing is installed. What it needs to define an agent then comes from
 * cairn's own package. Its own packages come first: this only answers what nothing else could.
 */
import { registerHooks } from "node:module";

const OURS = /^(cairn|zod|zod\/.+|@ai-sdk\/provider)$/;

let registered = false;

/** For a composition root, before it loads agents. A second call does nothing. */
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
