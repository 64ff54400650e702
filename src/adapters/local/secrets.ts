/**
 * Secrets of the embedded world: the environment of the process, then the file `.env` of its working directory. Which
 * names agents declare is kept in the store, and when a process last had a value for each; values are not.
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
  const note = store.rows.prepare(
    `INSERT INTO meta (name, value) VALUES (?, unixepoch())
     ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE value = '' OR value < unixepoch() - ${NOTED_SECONDS}`,
  );
  const selectNoted = store.rows.prepare(
    `SELECT 1 FROM meta WHERE name = ? AND value <> '' AND abs(unixepoch() - value) < ${ELSEWHERE_SECONDS}`,
  );
  return {
    get: async (name) => {
      const look = lookFor(name, places);
      const item = `${ITEM}${name}`;
      if (look.kind === "found") reaching(store, () => note.run(item));
      else if (reaching(store, () => selectNoted.get(item)) !== undefined) return { ...look, kind: "unread" };
      return look;
    },
    declare: async (names) => {
      for (const name of names) if (!known.has(name)) reaching(store, () => insert.run(`${ITEM}${name}`));
      for (const name of names) known.add(name);
    },
    declared: async () =>
      reaching(store, () => select.all(ITEM, `${ITEM}~`)).map(({ name }) => String(name).slice(ITEM.length)),
  };
}

const ITEM = "secret ";

/** For so long after a process had its value, a secret that another process does not find is there, and not known. */
const ELSEWHERE_SECONDS = 86_400;
/** How often that is written down at most. */
const NOTED_SECONDS = 3_600;

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
