/**
 * Secrets of the embedded world: the environment of the process, then the file `.env` of its working directory. Which
 * names agents declare is kept in the store, so that whoever writes into it knows what to keep out; values are not.
 */
import { readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import type { SecretLook, Secrets } from "../../ports/secrets.ts";
import { type Store, reaching } from "./database.ts";
import { fileCode } from "./store-errors.ts";

interface Places {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute; it need not be there. */
  readonly file: string;
}

export function localSecrets({ store, ...places }: Places & { readonly store: Store }): Secrets {
  const known = new Set<string>();
  const insert = store.rows.prepare("INSERT OR IGNORE INTO meta (name, value) VALUES (?, '')");
  const select = store.rows.prepare("SELECT name FROM meta WHERE name >= ? AND name < ?");
  return {
    get: async (name) => lookFor(name, places),
    declare: async (names) => {
      for (const name of names) if (!known.has(name)) reaching(store, () => insert.run(`${ITEM}${name}`));
      for (const name of names) known.add(name);
    },
    declared: async () =>
      reaching(store, () => select.all(ITEM, `${ITEM}~`)).map(({ name }) => String(name).slice(ITEM.length)),
  };
}

const ITEM = "secret ";

/** Also for whoever has no store yet. */
export function lookFor(name: string, { env, file }: Places): SecretLook {
  // An empty variable says no more than a missing one.
  const value = env[name] || valuesIn(file)[name];
  if (value) return { kind: "found", value };
  return { kind: "absent", where: `the environment and ${file}`, mend: `echo '${name}=...' >> ${file}` };
}

function valuesIn(file: string): Readonly<Record<string, string | undefined>> {
  try {
    return parseEnv(readFileSync(file, "utf8"));
  } catch (error) {
    if (fileCode(error) === "ENOENT") return {};
    throw error;
  }
}
