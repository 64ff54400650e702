/** The embedded world for the command line: a store in a directory, supervised by a process of the user. */
import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { sentenceOf } from "../../codec/value.ts";
import { type Diagnosis, judgeAll } from "../../ports/diagnosis.ts";
import { StoreForeign, StoreInvalid, StoreTooNew, StoreUnusable } from "../../ports/store-errors.ts";
import { StoreUnreachable } from "../../ports/world.ts";
import type {
  Attendant,
  ConfiguredWorld,
  DiagnoseOptions,
  OpenWorldOptions,
  OpenedWorld,
  Places,
  WorldProvider,
} from "../../ports/world-provider.ts";
import type { Limits } from "../../protocol/limits.ts";
import { agentFileOf, rememberAgentFile } from "./workers/agent-files.ts";
import { LOCAL_CHECKS, type StoreLook } from "./checks.ts";
import { restoreBackup, takeBackup } from "./store/backups.ts";
import { type Store, leftIn, openStore } from "./store/database.ts";
import { inspectStore } from "./inspection.ts";
import { supervisorOf } from "./workers/processes.ts";
import { removalsOf } from "./store/removals.ts";
import { environmentSealKeys } from "./seal-keys.ts";
import { localSecrets, lookFor } from "./secrets.ts";
import { startSupervisor } from "./workers/supervisor.ts";
import { assertSystem } from "./system.ts";
import { localWorld } from "./world.ts";

const STORE = { name: "store", variable: "CAIRN_STORE" } as const;

/** The provider of the embedded world. */
export const localProvider: WorldProvider = {
  name: "local",
  settings: [STORE],
  driver: null,
  can: { rollout: false, agentFiles: true, kill: true },
  configure: ({ env, cwd, options, config }) => {
    const named = options[STORE.name] ?? env[STORE.variable];
    const dir = resolve(cwd, named || (config[STORE.name] ?? join(cwd, ".cairn")));
    return { kind: "configured", world: localStore({ dir, env, cwd }) };
  },
  sealKeys: async (places) => environmentSealKeys(places),
};

interface Located extends Places {
  readonly dir: string;
}

function localStore(at: Located): ConfiguredWorld {
  const { dir, env, cwd } = at;
  return {
    place: dir,
    words: ["--world", "local", "--store", dir],
    isThere: () => isThere(dir),
    open: async (options) => openedStore(at, options),
    findSecret: async (name) => lookFor(name, { env, file: join(cwd, ".env") }),
    diagnose: async (options) => diagnosis(at, options),
    agents: { kind: "files" },
    rollout: null,
    backups: {
      take: async ({ file, onShare }) => {
        const store = openStore({ dir, create: false });
        try {
          return await takeBackup(store, { file, onShare });
        } finally {
          store.close();
        }
      },
      restore: ({ file, options, settle }) =>
        restoreBackup({ file, dir, settle: (store) => settle(openedWorld(at, { ...options, store }).world) }),
    },
  };
}

/**
 * Whether there is a store. A path that is not a directory counts as one, and so does what is left of a store without its
 * file, so that opening it reports what is wrong.
 */
const isThere = (dir: string): boolean =>
  existsSync(dir) && (!statSync(dir).isDirectory() || existsSync(join(dir, "cairn.sqlite")) || leftIn(dir).length > 0);

/**
 * A command records no telemetry. It only reads, or writes messages; the processes that execute beats record telemetry.
 */
const SILENT = { record: (): void => {} };

function openedStore({ dir, ...at }: Located, { create, check, ...options }: OpenWorldOptions): OpenedWorld {
  assertSystem();
  return openedWorld(at, { ...options, store: openStore({ dir, create, ...(check !== undefined && { check }) }) });
}

function openedWorld(
  { env, cwd }: Places,
  of: Omit<OpenWorldOptions, "create" | "check"> & { readonly store: Store },
): OpenedWorld {
  const { store, limits, sealKeys } = of;
  const secrets = localSecrets({ store, env, file: join(cwd, ".env") });
  const current = (): number | null => supervisorOf(store)?.pid ?? null;
  return {
    world: localWorld({ store, limits, telemetry: SILENT, secrets, sealKeys }),
    operator: null,
    pollMs: 100,
    attendant: () => processNamed(current()),
    supervision: { current, start: (options) => startSupervisor({ ...options, store, limits }) },
    agentFiles: {
      find: (agent) => agentFileOf(store, agent),
      remember: (of) => rememberAgentFile(store, of),
    },
    // A supervisor would delete it too, but possibly none is running.
    finishRemoval: (of) => removalsOf(store).finish(of),
    close: () => store.close(),
  };
}

const processNamed = (pid: number | null): Attendant | null =>
  pid === null ? null : { id: pid, name: `process ${pid}` };

function diagnosis(at: Located, { limits, command, onLong }: DiagnoseOptions): Diagnosis {
  const { dir } = at;
  const bytes = statSync(join(dir, "cairn.sqlite"), { throwIfNoEntry: false })?.size ?? 0;
  const mebibytes = Math.round(bytes / 1024 ** 2).toLocaleString("en-US");
  if (bytes > LARGE_BYTES) onLong(`reading all ${mebibytes} MiB of the store at ${dir}`);
  const now = Date.now();
  const seen = { look: lookAt(at, { now, limits }), limits, now, command };
  return { checks: judgeAll(LOCAL_CHECKS, { seen, production: false }), hints: [] };
}

/** The size from which reading a whole store takes noticeably long. */
const LARGE_BYTES = 256 * 1024 ** 2;

function lookAt({ dir, ...places }: Located, of: { readonly now: number; readonly limits: Limits }): StoreLook {
  if (!isThere(dir)) return { kind: "missing", dir };
  // Throws if the seal keys are invalid, as opening the store would.
  environmentSealKeys(places);
  let store: Store | null = null;
  try {
    store = openStore({ dir, create: false, check: "none" });
    return { kind: "seen", store: inspectStore(store, { overdueBefore: of.now - of.limits.overdueMs }) };
  } catch (error) {
    if (!isOfStore(error)) throw error;
    return { kind: "broken", why: sentenceOf(error) };
  } finally {
    store?.close();
  }
}

/** Whether the error describes the state of the store. */
const isOfStore = (error: unknown): boolean =>
  [StoreInvalid, StoreTooNew, StoreForeign, StoreUnreachable, StoreUnusable].some((kind) => error instanceof kind);
