/** Opens the stores of a world for a program, as the command line does, and turns its errors into `CairnError`. */
import { resolve } from "node:path";
import { UserError } from "../compose/user-error.ts";
import { openSettled } from "../compose/open.ts";
import { settingsOf } from "../compose/settings.ts";
import type { StoreFlags, Surroundings } from "../compose/surroundings.ts";
import { WORLDS } from "../compose/worlds.ts";
import { sentenceOf } from "../codec/value.ts";
import type { Agent } from "../ports/agent.ts";
import type { OpenedWorld } from "../ports/world-provider.ts";
import { CairnError } from "./errors.ts";

/** Where the settings of a program come from: the folder of its config and its environment. */
export const surroundingsOf = (cwd = process.cwd(), agents?: readonly Agent[]): Surroundings => ({
  ...(agents !== undefined && { agents }),
  argv: [],
  env: process.env,
  cwd: resolve(cwd),
  worlds: WORLDS,
});

/** Creates a missing store. Settings that are not given come from the environment and the config. */
export const openNamedStore = (given: {
  readonly store?: string | undefined;
  readonly world?: string | undefined;
}): Promise<OpenedWorld> => {
  const shell = surroundingsOf();
  return asClientErrors(async () => openSettled(shell, await settingsOf(shell, storeFlags(given)), { create: true }));
};

/** The options of a command that name the store. */
export const storeFlags = ({
  store,
  world,
}: {
  readonly store?: string | undefined;
  readonly world?: string | undefined;
}): StoreFlags => ({ ...(store !== undefined && { store }), ...(world !== undefined && { world }) });

/** @throws CairnError instead of the errors of the command line and of the stores */
export async function asClientErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof UserError) {
      const { code, what, why, facts = {} } = cause.trouble;
      throw new CairnError(`${what}: ${why}`, { code, status: null, facts, cause });
    }
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "StoreUnusable";
    throw new CairnError(sentenceOf(cause), { code, status: null, cause });
  }
}
