/** Opens the stores of a world for a program, as the command line does, and turns its errors into `CairnError`. */
import { CliError } from "../cli/errors.ts";
import { openSettled } from "../cli/open.ts";
import { settingsOf } from "../cli/settings.ts";
import type { StoreFlags } from "../cli/shell.ts";
import { WORLDS } from "../cli/worlds.ts";
import { sentenceOf } from "../codec/value.ts";
import type { OpenedWorld } from "../ports/world-provider.ts";
import { CairnError } from "./errors.ts";

/** Creates a missing store. Settings that are not given come from the environment and the config. */
export async function openStore(of: {
  readonly store?: string | undefined;
  readonly world?: string | undefined;
}): Promise<OpenedWorld> {
  const { store, world } = of;
  const shell = { argv: [], env: process.env, cwd: process.cwd(), worlds: WORLDS };
  const flags: StoreFlags = { ...(store !== undefined && { store }), ...(world !== undefined && { world }) };
  try {
    return await openSettled(shell, await settingsOf(shell, flags), { create: true });
  } catch (cause) {
    if (cause instanceof CliError) {
      const { code, what, why, facts = {} } = cause.trouble;
      throw new CairnError(`${what}: ${why}`, { code, status: null, facts, cause });
    }
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "StoreUnusable";
    throw new CairnError(sentenceOf(cause), { code, status: null, cause });
  }
}
