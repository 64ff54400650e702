/**
 * A `kill -9` of a worker's process in the middle of its effect, during the hand-off of its boss, with workers of every
 * effect class, and with plain bosses and orchestrators. The service is outside, and counts payments by what they are for and not by their keys. For each subject
 * there is one payment, or one question to a human at the boss.
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
  askCairnJson,
  askCairn,
  type CliFolder,
  createCliFolder,
  parseJsonLines,
  runCairnJson,
  spawnCairn,
} from "../../support/processes/cli-process.ts";

const TEAMS = join(import.meta.dirname, "../../process/fixtures/paying-teams.ts");

const CLASSES = ["unsafe", "probed", "idempotent", "keyed", "none"] as const;
/** Whether the payment has happened when the process of the worker is killed; and under which kind of boss. */
const ALL = [
  ...CLASSES.flatMap((effect) => [`${effect} before boss`, `${effect} after boss`]),
  ...["unsafe after orchestrator", "keyed after orchestrator"],
];
/** The one that asks a human, the one that repeats its call, and the other kind of boss; the rest is for the night. */
const SUBJECTS: readonly string[] = sampled(
  ["unsafe before boss", "unsafe after boss", "idempotent after boss", "unsafe after orchestrator"],
  ALL,
);
const QUESTIONS = SUBJECTS.filter((subject) => subject.startsWith("unsafe"));
/** What such a tool promises: the same call again makes no other payment. Another child has another key. */
const ARE_DEDUPLICATED: ReadonlySet<string> = new Set(["idempotent", "keyed"]);

interface Payment {
  readonly subject: string;
  readonly key: string;
  readonly pid: number;
}

/** A service that kills the process from which the first request for a subject comes. */
async function payments() {
  const paid: Payment[] = [];
  const killed = new Set<string>();
  const pay = (payment: Payment, response: ServerResponse): void => {
    const { subject, key, pid } = payment;
    const [effect = "", moment] = subject.split(" ");
    // A call without an effect only looks.
    const isKnown = effect === "none" || (ARE_DEDUPLICATED.has(effect) && paid.some((each) => each.key === key));
    const happens = (): void => void (isKnown || paid.push(payment));
    if (killed.has(subject)) {
      happens();
      response.end("paid");
      return;
    }
    if (moment === "after") happens();
    killed.add(subject);
    process.kill(pid, "SIGKILL");
  };
  const server = createServer((request, response) => {
    if (request.url?.startsWith("/paid/")) {
      const key = decodeURIComponent(request.url.slice("/paid/".length));
      response.end(paid.some((each) => each.key === key) ? "yes" : "no");
      return;
    }
    void text(request).then((body) => pay(JSON.parse(body) as Payment, response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, killed, countOf: (subject: string) => paid.filter((each) => each.subject === subject).length };
}

type Counts = Pick<Awaited<ReturnType<typeof payments>>, "countOf">;

/** Whatever was asked, no subject was paid twice. */
const assertNonePaidTwice = ({ countOf }: Counts): void =>
  assertSafety("no subject is paid twice, whatever the keys are", () =>
    expect(SUBJECTS.filter((subject) => countOf(subject) > 1)).toEqual([]),
  );

const idleIn = async (folder: CliFolder, bosses: ReadonlyMap<string, string>) => {
  const runs = parseJsonLines((await askCairn(folder, ["list", "--limit", "100", "--json"])).out);
  const found = runs.filter(({ run }) => [...bosses.values()].includes(String(run)));
  return { runs, found, statuses: new Map(found.map(({ run, status }) => [String(run), String(status)])) };
};

test(
  "a worker is killed in the middle of its effect: it happens once, or one question stands at the boss",
  { timeout: LIMITS.sceneMs },
  async () => {
    const service = await payments();
    const folder = createCliFolder({
      SERVICE: service.url,
      CAIRN_BEAT_SECONDS: String(LIMITS.shortBeatMs / 1_000),
      CAIRN_LIMITS: JSON.stringify({ settleMs: 500, skewMs: 100 }),
      DEADLINE_MS: String(2 * LIMITS.shortBeatMs),
    });
    writeFileSync(
      join(folder.dir, "cairn.config.ts"),
      `export const config = { agents: [${JSON.stringify(TEAMS)}] };\n`,
    );
    const bosses = new Map<string, string>();
    const start = async (subject: string): Promise<void> => {
      const [effect, , boss] = subject.split(" ");
      const words = ["start", `${effect}-${boss}`, "--key", subject, "--input", JSON.stringify({ subject })];
      bosses.set(subject, String((await runCairnJson(folder, words))["run"]));
    };
    for (const effect of CLASSES) {
      await Promise.all(SUBJECTS.filter((subject) => subject.startsWith(effect)).map(start));
    }
    const bossOf = (subject: string): string => bosses.get(subject) ?? "";
    spawnCairn(folder, ["work", "--workers", "3", "--beats-per-worker", "1"]);
    await waitForCount("the kill of a worker", SUBJECTS.length, () => service.killed.size, LIMITS.runMs);

    const settled = await waitUntil(async () => {
      assertNonePaidTwice(service);
      const now = await idleIn(folder, bosses);
      for (const subject of SUBJECTS) {
        const expected = QUESTIONS.includes(subject) ? "blocked" : "completed";
        expect({ subject, status: now.statuses.get(bossOf(subject)) }).toEqual({ subject, status: expected });
      }
      return now;
    }, LIMITS.sceneMs);
    assertSafety("each subject is paid once, or its boss asks and nothing was paid that was not begun", () => {
      const counts = SUBJECTS.map((subject) => [subject, service.countOf(subject)]);
      const unpaid = (subject: string): boolean => subject.startsWith("none") || subject === "unsafe before boss";
      expect(counts).toEqual(SUBJECTS.map((subject) => [subject, unpaid(subject) ? 0 : 1]));
    });
    const workers = settled.runs.filter(({ agent }) => String(agent).endsWith("-worker"));
    expect(workers).toHaveLength(SUBJECTS.length);

    // One question for each subject whose outcome nobody can know, at the boss and nowhere else.
    const listed = parseJsonLines((await askCairn(folder, ["approvals", "--json"])).out);
    expect(listed.map(({ run }) => String(run)).toSorted()).toEqual(QUESTIONS.map(bossOf).toSorted());
    expect(listed).toMatchObject(
      QUESTIONS.map(() => ({
        ...{ unknown: true, tool: "ask", call: "c1" },
        did: [expect.stringMatching(/^pay \(c1, of run local-\w+, key \S+\) may have happened$/)],
      })),
    );
    const inWords = (await askCairn(folder, ["approvals"])).out;
    for (const subject of QUESTIONS) {
      const run = bossOf(subject);
      expect(inWords).toMatch(new RegExp(`${run}.*\\n.*the outcome of ask \\(c1\\) is unknown`));
      expect(inWords).toContain(`reconcile ${run} c1 --as succeeded`);
      expect(await askCairnJson(folder, ["show", run])).toMatchObject({ unknown: [{ call: "c1", answered: false }] });
      const ledger = parseJsonLines((await askCairn(folder, ["ledger", run, "--json"])).out);
      expect(ledger).toMatchObject([{ call: "c1", status: "unknown" }]);
    }

    // A human has looked at the service, and says at the boss what is true.
    const reconciled = async (subject: string, ...words: readonly string[]): Promise<void> => {
      await waitUntil(async () => {
        const { exit, err } = await askCairn(folder, ["reconcile", bossOf(subject), "c1", ...words]);
        expect({ exit, err }).toEqual({ exit: 0, err: expect.any(String) });
      });
    };
    await reconciled("unsafe after boss", "--as", "succeeded", "--result", '{"memo":"paid"}');
    await reconciled("unsafe after orchestrator", "--as", "succeeded", "--result", '{"memo":"paid"}');
    await reconciled("unsafe before boss", "--as", "retry");
    await waitUntil(async () => {
      assertNonePaidTwice(service);
      const { statuses } = await idleIn(folder, bosses);
      expect([...new Set(statuses.values())]).toEqual(["completed"]);
    });
    assertSafety("each subject is paid once", () =>
      expect(SUBJECTS.map((subject) => service.countOf(subject))).toEqual(
        SUBJECTS.map((subject) => (subject.startsWith("none") ? 0 : 1)),
      ),
    );
    expect((await askCairn(folder, ["approvals"])).out).toContain("no call waits for");
    for (const subject of SUBJECTS) {
      const shown = await askCairnJson(folder, ["show", bossOf(subject)]);
      expect({ subject, result: shown["result"] }).toEqual({ subject, result: ["succeeded"] });
      expect({ subject, findings: (await askCairnJson(folder, ["verify", bossOf(subject)]))["findings"] }).toEqual({
        subject,
        findings: [],
      });
    }
  },
);
