/** The faults of a campaign: kills, freezes, a client that holds the store's lock, and readers that never read. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as elapse } from "node:timers/promises";
import type { SeededChoices } from "../../simulation/seeded-choices.ts";
import type { CampaignServer } from "./server.ts";

export const FAULTS = [
  "worker is killed",
  "supervisor is killed",
  "worker freezes",
  "supervisor freezes",
  "supervisor and worker freeze",
  "client freezes in its commit",
  "readers never read",
] as const;
export type FaultKind = (typeof FAULTS)[number];

export interface FaultPlayer {
  /** The processes that a fault ended or stopped. */
  readonly hit: ReadonlySet<number>;
  /** The fault that is being played; null: none. */
  readonly now: () => FaultKind | null;
  readonly played: Readonly<Record<FaultKind, number>>;
  /** Plays one fault; resolves when it is over. */
  play(kind: FaultKind): Promise<void>;
}

const CLIENT = join(import.meta.dirname, "freezing-client.ts");
const READERS = 60;

export function createFaultPlayer(of: {
  readonly dir: string;
  readonly server: CampaignServer;
  readonly chance: SeededChoices;
  /** The longest freeze, in milliseconds: longer than a beat. */
  readonly freezeMsMax: number;
  /** A run with many events, for readers. */
  readonly readRun: () => string;
}): FaultPlayer {
  const { dir, server, chance, freezeMsMax, readRun } = of;
  const hit = new Set<number>();
  const played = Object.fromEntries(FAULTS.map((kind) => [kind, 0])) as Record<FaultKind, number>;
  const signal = (pid: number, name: NodeJS.Signals): void => {
    try {
      process.kill(pid, name);
    } catch {
      // It has ended meanwhile.
    }
  };
  const aWorker = (): readonly number[] => {
    const workers = server.workers();
    return workers.length === 0 ? [] : [chance.pick(workers)];
  };
  const freezeMs = (): number => 500 + chance.below(freezeMsMax);
  const freeze = async (pids: readonly number[]): Promise<void> => {
    for (const pid of pids) signal(pid, "SIGSTOP");
    await elapse(freezeMs());
    for (const pid of pids) signal(pid, "SIGCONT");
  };
  const frozenWorker = (): readonly number[] => {
    const pids = aWorker();
    for (const pid of pids) hit.add(pid);
    return pids;
  };
  const acts: Record<FaultKind, () => Promise<void>> = {
    "worker is killed": async () => {
      for (const pid of frozenWorker()) signal(pid, "SIGKILL");
    },
    "supervisor is killed": async () => {
      for (const pid of server.workers()) hit.add(pid);
      await server.restart();
    },
    "worker freezes": () => freeze(frozenWorker()),
    "supervisor freezes": () => freeze([server.pid()]),
    "supervisor and worker freeze": () => freeze([server.pid(), ...frozenWorker()]),
    "client freezes in its commit": async () => {
      const client: ChildProcess = fork(CLIENT, [dir], { stdio: "inherit" });
      await once(client, "message");
      await freeze([client.pid ?? 0]);
      client.kill("SIGKILL");
    },
    "readers never read": async () => {
      const { hostname, port } = new URL(server.url);
      const sockets = Array.from({ length: READERS }, () => {
        const socket = connect(Number(port), hostname);
        socket.on("error", () => socket.destroy());
        socket.write(`GET /runs/${readRun()}/events HTTP/1.1\r\nHost: cairn\r\nAccept: text/event-stream\r\n\r\n`);
        return socket.pause();
      });
      await elapse(freezeMs());
      for (const socket of sockets) socket.destroy();
    },
  };
  let current: FaultKind | null = null;
  return {
    hit,
    now: () => current,
    played,
    play: async (kind) => {
      current = kind;
      await acts[kind]();
      current = null;
      played[kind] += 1;
    },
  };
}
