/**
 * The idempotency keys of requests whose effect a second one would repeat. An answer can be lost after the server acted,
 * so a request keeps its key until an answer says what came of it. It keeps the key also if its dialog is opened anew.
 */
import type { ConsoleAction } from "./commands.ts";

export interface RequestKeys {
  /** The key of the request: the same one until it is forgotten. Another body has another key. */
  readonly keyOf: (action: ConsoleAction) => string;
  /** It is known what came of the request, so the next one like it is a new request. */
  readonly forget: (action: ConsoleAction) => void;
}

/** `random`: a key that no request had before. */
export function requestKeys(random: () => string): RequestKeys {
  const open = new Map<string, string>();
  const nameOf = ({ path, body }: ConsoleAction): string => JSON.stringify([path, body]);
  return {
    keyOf: (action) => {
      const name = nameOf(action);
      const key = open.get(name) ?? random();
      open.set(name, key);
      return key;
    },
    forget: (action) => void open.delete(nameOf(action)),
  };
}
