/**
 * Families of real processes: a boss, its worker and their supervisor, of which one dies or stops in the middle of the
 * worker's payment, or the answer is lost. The service is outside, and counts payments by what they are for and not by
 * their keys. Each family has one payment, or one question to a human, who says what is true.
 *
 * The service itself strikes at the first request of each family, so each fault comes about at its moment.
 */
import { writeFileSync } from "node:fs";
import { type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { LIMITS } from "../../support/gate/limits.ts";
import { sampled } from "../../support/gate/stride.ts";
import { assertSafety, waitForCount, waitUntil } from "../../support/gate/safety.ts";
import {
  type CliFolder,
  type CliProcess,
  askCairn,
  askCairnJson,
  createCliFolder,
  runCairnJson,
  spawnCairn,
} from "../../support/processes/cli-process.ts";

const TEAMS = join(import.meta.dirname, "../../process/fixtures/paying-teams.ts");
const CLASSES = ["keyed", "unsafe", "probed", "idempotent", "none"] as const;
/** What befalls the first request of a family. `supervisor`: the process above it is killed, and another one follows. */
const FAULTS = ["stop", "supervisor", "kill", "lost answer"] as const;

interface Team {
  readonly subject: string;
  readonly effect: (typeof CLASSES)[number];
  readonly fault: (typeof FAULTS)[number];
  /** The payment happens before the fault. */
  readonly isPaid: boolean;
  readonly boss: "boss" | "orchestrator";
}

/** The first ones have each class, each fault and both moments. */
const TEAM_LIST: readonly Team[] = Array.from({ length: sampled(5, 200) }, (_, index) => {
  const effect = CLASSES[index % CLASSES.length] ?? "none";
  const isAsked = Math.floor(index / 40) % 2 === 1 && (effect === "keyed" || effect === "unsafe");
  return {
    ...{ subject: `family-${index}`, effect, boss: isAsked ? "orchestrator" : "boss" },
    ...{ fault: FAULTS[index % FAULTS.length] ?? "kill", isPaid: Math.floor(index / 20) % 2 === index % 2 },
  };
});
const TEAM_OF = new Map(TEAM_LIST.map((team) => [team.subject, team]));

interface Payment {
  readonly subject: string;
  readonly key: string;
  readonly pid: number;
}

class Payments {
  readonly paid: Payment[] = [];
  /** The families whose first request came. */
  readonly struck = new Set<string>();
  readonly #strikeSupervisor: () => void;

  constructor(strikeSupervisor: () => void) {
    this.#strikeSupervisor = strikeSupervisor;
  }

  countOf({ subject }: Team): number {
    return this.paid.filter((each) => each.subject === subject).length;
  }

  receive(payment: Payment, response: ServerResponse): void {
    const team = TEAM_OF.get(payment.subject);
    if (team === undefined) throw new Error(`nothing is to be paid for ${payment.subject}`);
    if (this.struck.has(team.subject)) {
      this.#pay(team, payment);
      response.end("paid");
      return;
    }
    this.struck.add(team.subject);
    if (team.isPaid) this.#pay(team, payment);
    if (team.fault === "lost answer") response.destroy();
    else if (team.fault === "supervisor") this.#strikeSupervisor();
    else process.kill(payment.pid, team.fault === "stop" ? "SIGSTOP" : "SIGKILL");
  }

  /** A call of class `none` only looks. The same key again is the same payment where the tool promises that. */
  #pay({ effect }: Team, payment: Payment): void {
    const isKnown = this.paid.some(({ key }) => key === payment.key);
    if (effect !== "none" && !(isKnown && (effect === "keyed" || effect === "idempotent"))) this.paid.push(payment);
  }
}

async function served(payments: Payments): Promise<string> {
  const server = createServer((request, response) => {
    const key = /^\/paid\/(.+)$/.exec(request.url ?? "")?.[1];
    if (key === undefined) {
      void text(request).then((body) => payments.receive(JSON.parse(body) as Payment, response));
      return;
    }
    response.end(payments.paid.some((each) => each.key === decodeURIComponent(key)) ? "yes" : "no");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** So many families work at once. A run meets the deaths of few supervisors, and never so many that it is given up. */
const AT_ONCE = 5;

async function startAll(folder: CliFolder, teams: readonly Team[]): Promise<ReadonlyMap<string, Team>> {
  const bosses = new Map<string, Team>();
  await Promise.all(
    teams.map(async (team) => {
      const { subject, effect, boss } = team;
      const words = ["start", `${effect}-${boss}`, "--key", subject, "--input", JSON.stringify({ subject })];
      bosses.set(String((await runCairnJson(folder, words))["run"]), team);
    }),
  );
  return bosses;
}

test(
  "a worker, its supervisor or an answer is lost in the middle of a payment: each family pays once, or asks once",
  { timeout: LIMITS.sceneMs * sampled(1, 10) },
  async () => {
    let supervisor: CliProcess | null = null;
    const supervise = (): void => {
      supervisor = spawnCairn(folder, ["work", "--workers", "3"]);
    };
    const payments = new Payments(() => {
      supervisor?.child.kill("SIGKILL");
      supervise();
    });
    const folder = createCliFolder({
      SERVICE: await served(payments),
      CAIRN_BEAT_SECONDS: String(LIMITS.shortBeatMs / 1_000),
      CAIRN_LIMITS: JSON.stringify({ settleMs: 500, skewMs: 100 }),
      DEADLINE_MS: String(2 * LIMITS.shortBeatMs),
    });
    const config = `export const config = { agents: [${JSON.stringify(TEAMS)}] };\n`;
    writeFileSync(join(folder.dir, "cairn.config.ts"), config);
    supervise();

    const assertNonePaidTwice = (): void =>
      assertSafety("no family pays twice, whatever the keys are", () =>
        expect(TEAM_LIST.filter((team) => payments.countOf(team) > 1)).toEqual([]),
      );
    /** A human has looked at the service, and says at the boss what is true. */
    const answer = async (run: string, team: Team): Promise<void> => {
      const isPaid = payments.countOf(team) > 0;
      const said = isPaid ? ["--as", "succeeded", "--result", '{"memo":"paid"}'] : ["--as", "retry"];
      await askCairn(folder, ["reconcile", run, "c1", ...said]);
    };
    for (let at = 0; at < TEAM_LIST.length; at += AT_ONCE) {
      const teams = TEAM_LIST.slice(at, at + AT_ONCE);
      const bosses = await startAll(folder, teams);
      const countStruck = (): number => payments.struck.size;
      await waitForCount("the first request of a family", at + teams.length, countStruck, LIMITS.sceneMs);
      await waitUntil(async () => {
        assertNonePaidTwice();
        const statuses = await statusesIn(folder, bosses);
        for (const [run, team] of bosses) if (statuses.get(run) === "blocked") await answer(run, team);
        expect(new Set(statuses.values())).toEqual(new Set(["completed"]));
      }, LIMITS.sceneMs);
    }
    assertNonePaidTwice();
    assertSafety("each family has paid, unless its model heard that the call failed", () => {
      const isOwed = ({ effect, fault, isPaid }: Team): boolean =>
        effect !== "none" && (isPaid || fault !== "lost answer");
      expect(TEAM_LIST.filter((team) => isOwed(team) && payments.countOf(team) !== 1)).toEqual([]);
    });
  },
);

async function statusesIn(folder: CliFolder, bosses: ReadonlyMap<string, Team>): Promise<ReadonlyMap<string, string>> {
  const statuses = new Map<string, string>();
  for (const run of bosses.keys()) {
    statuses.set(run, String((await askCairnJson(folder, ["show", run]))["status"]));
  }
  return statuses;
}
