/**
 * Secrets of the embedded world: the environment of the process, then the file `.env` of its working directory. The
 * store keeps the names that agents declare, and when a process last had a value for each. It never keeps the values.
 */
import { readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import type { SecretLook, Secrets } from "../../ports/secrets.ts";
import { type Store, reaching } from "./store/database.ts";
import { fileCode } from "./store/store-errors.ts";

interface Places {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** An absolute path; the file may be missing. */
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

/** The names of which a process had a value lately, and this one has none: it keeps no input (`SecretUnread`). */
export function unreadSecrets(store: Store, places: Places): readonly string[] {
  const noted = store.rows.prepare(
    `SELECT name FROM meta WHERE name >= ? AND name < ?
     AND value <> '' AND abs(unixepoch() - value) < ${ELSEWHERE_SECONDS} ORDER BY name`,
  );
  const names = reaching(store, () => noted.all(ITEM, `${ITEM}~`)).map(({ name }) => String(name).slice(ITEM.length));
  return names.filter((name) => lookFor(name, places).kind === "absent");
}

const ITEM = "secret ";

/** For this long after a process had a secret's value, another process that lacks it reports `unread`, not `absent`. */
const ELSEWHERE_SECONDS = 86_400;
/** The shortest time between two such records. */
const NOTED_SECONDS = 3_600;

/** Looks up one secret. It needs no store. */
export function lookFor(name: string, { env, file }: Places): SecretLook {
  // An empty variable counts as missing.
  const value = env[name] || valuesIn(file)[name];
  if (value) return { kind: "found", value };
  return { kind: "absent", where: `the environment and ${file}`, mend: `echo '${name}=...' >> ${file}` };
}

function valuesIn(file: string): Readonly<Record<string, string | undefined>> {
  try {
    // Some editors begin a file with a mark of its encoding, which would become a part of the first name.
    return parseEnv(readFileSync(file, "utf8").replace(/^\uFEFF/, ""));
  } catch (error) {
    if (fileCode(error) === "ENOENT") return {};
    throw error;
  }
}
