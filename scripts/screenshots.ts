/**
 * `npm run screenshots`: photographs each page of the console in `coverage/console`, at 1280 and 390 px, light and dark,
 * over a real server whose runs are real: one is killed in a call, one waits for approval, one asks, one has failed. Those
 * that README.md or a page of `docs` shows it also copies to `docs/console`. It needs Chromium (`npm run chromium`).
 */
import { type ChildProcess, spawn } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as elapse } from "node:timers/promises";
import { type Browser, chromium } from "playwright-core";
import { findChromium } from "./chromium.ts";
import { quantised } from "./quantise-png.ts";

const ROOT = join(import.meta.dirname, "..");
const OUT = join(ROOT, "coverage", "console");
const SHOWN = join(ROOT, "docs", "console");

/** One agent that does what its task says: each step is a call, and `crash` kills the process after its effect. */
const DESK = `
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { askHuman, check, childTool, defineAgent, scriptedModel, tool } from "cairn-run";
import { z } from "zod";

const order = z.object({ order: z.string() });
const steps = z.enum(["lookUpOrder", "checkStock", "refund", "sendLetter", "askCustomerDesk", "bookCourier"]);
const says = {
  lookUpOrder: "I look up the order first.", checkStock: "Is the item in stock?", refund: "The customer is owed a refund.",
  sendLetter: "A letter confirms it.", askCustomerDesk: "I am not sure, so I ask.", bookCourier: "A courier collects the parcel.",
};
const model = (name) => scriptedModel({
  name,
  reply: async ({ task, calls }) => {
    await wait(120 + 90 * (calls.length % 4));
    const { order, steps } = task.json;
    const step = steps[calls.length];
    const cost = { tokensIn: 4200 + 900 * calls.length, tokensOut: 180 };
    if (step === undefined) return { text: "Order " + order + " is settled.", ...cost };
    const args = step === "refund" ? { order, euros: 249.5, reason: "arrived broken" } : step === "askCustomerDesk" ? { question: "Order " + order + " was delivered twice. Which parcel does the customer keep?" } : { order };
    return { text: says[step], calls: [{ tool: step, args }], ...cost };
  },
});
const common = {
  version: "3", instructions: "Settle complaints.", price: { inUsd: 3, outUsd: 15 }, budget: { usd: 2, beats: 60 },
  task: z.object({ order: z.string().describe("Such as A-1042"), steps: z.array(steps).describe("What to do, in order") }),
};
const tools = {
  lookUpOrder: tool({ effect: "none", input: order, run: async ({ input }) => (await wait(300), { order: input.order, item: "kettle", euros: 249.5, status: "delivered" }) }),
  checkStock: tool({ effect: "none", input: order, run: async () => (await wait(180), { inStock: 12 }) }),
  refund: tool({ effect: "keyed", approval: ({ euros }) => euros > 100 ? "it is more than 100 euros" : false,
    input: z.object({ order: z.string(), euros: z.number(), reason: z.string() }),
    run: async ({ key }) => (await wait(400), { refunded: true, id: "re_" + key.slice(0, 8) }),
    undo: { effect: "keyed", run: () => ({ refunded: false }) } }),
  sendLetter: tool({ effect: "unsafe", input: order, run: async ({ input }) => {
    const file = join(process.env.CAIRN_STORE, "crash-" + input.order);
    if (existsSync(file) === false && input.order.endsWith("13")) { writeFileSync(file, ""); process.kill(process.pid, "SIGKILL"); await wait(9000); }
    return { posted: true };
  } }),
  bookCourier: tool({ effect: "keyed", input: order, run: async ({ input, key }) => {
    const file = join(process.env.CAIRN_STORE, "crash-" + input.order);
    if (existsSync(file) === false && input.order.endsWith("7")) { writeFileSync(file, ""); await wait(900); process.kill(process.pid, "SIGKILL"); await wait(9000); }
    await wait(700);
    return { courier: "bk_" + key.slice(0, 8), collects: "2026-12-01" };
  } }),
  askCustomerDesk: askHuman({ description: "Asks the customer desk.", answer: z.object({ keep: z.enum(["first", "second"]) }), timeLimit: "2d" }),
};
export const complaints = defineAgent({ name: "complaints", ...common, model: model("desk-large"), tools, done: [check("settled", ({ task }) => !task.order.startsWith("X") || "no such order exists")] });
const round = scriptedModel({ name: "desk-large", reply: ({ task, calls }) => calls.length > 0 ? { text: "All settled." } : { calls: task.json.orders.map((order) => ({ tool: "settle", args: { order, steps: ["lookUpOrder", "checkStock"] } })) } });
export const morning = defineAgent({ name: "morning-round", ...common, task: z.object({ orders: z.array(z.string()) }), model: round, done: [check("settled", () => true)],
  tools: { settle: childTool({ agent: "complaints", description: "Settles one order.", input: common.task, budget: { beats: 8, usd: 0.5 }, }) } });
export const nightly = defineAgent({ name: "nightly-report", ...common, model: model("desk-small"), tools: { lookUpOrder: tools.lookUpOrder }, done: [check("settled", () => true)],
  schedule: { every: "cron(0 3 * * ? *)", timezone: "Europe/Berlin", input: { order: "all", steps: ["lookUpOrder"] } } });
`;

const LONG = Array.from({ length: 5 }, (_, index) => ["lookUpOrder", "checkStock"][index % 2] ?? "");
const RUNS: readonly (readonly [order: string, steps: readonly string[]])[] = [
  ["A-1001", ["lookUpOrder", "checkStock", "bookCourier"]],
  ["A-1002", LONG],
  ["A-1007", ["lookUpOrder", "checkStock", "bookCourier", "lookUpOrder"]],
  ["A-1013", ["lookUpOrder", "sendLetter", "checkStock"]],
  ["A-1020", ["lookUpOrder", "askCustomerDesk", "bookCourier"]],
  ["A-1042", ["lookUpOrder", "checkStock", "refund", "bookCourier"]],
  ["X-1", ["lookUpOrder"]],
];
/** A list of thirty runs of one agent, which only their titles tell apart. */
const MORE = Array.from({ length: 30 - RUNS.length }, (_, index) => `B-${2001 + index}`);

async function main(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "cairn-desk-"));
  writeFileSync(join(dir, "desk.ts"), DESK);
  writeFileSync(join(dir, "cairn.config.ts"), 'export const config = { agents: ["./desk.ts"] };\n');
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const server = startServer(dir, port);
  const executablePath = findChromium();
  if (executablePath === null) throw new Error("there is no Chromium: type `npm run chromium`");
  try {
    await until(async () => (await fetch(`${url}/healthz`).catch(() => null))?.ok === true);
    const runs = new Map<string, string>();
    for (const order of MORE) await start(url, "complaints", { order, steps: ["lookUpOrder"] });
    for (const [order, steps] of RUNS) runs.set(order, await start(url, "complaints", { order, steps }));
    runs.set("round", await start(url, "morning-round", { orders: ["C-1", "C-2", "C-3"] }));
    await until(async () => (await waiting(url)) === 2 && (await blocked(url)) === 1 && (await running(url)) === 0);
    const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
    mkdirSync(OUT, { recursive: true });
    for (const width of [1280, 390])
      for (const scheme of ["light", "dark"] as const) await photograph(browser, { url, runs, width, scheme });
    await browser.close();
  } finally {
    server.kill();
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function photograph(
  browser: Browser,
  of: {
    readonly url: string;
    readonly runs: ReadonlyMap<string, string>;
    readonly width: number;
    readonly scheme: "light" | "dark";
  },
): Promise<void> {
  const { url, runs, width, scheme } = of;
  const [killed, refund] = [runs.get("A-1007") ?? "", runs.get("A-1042") ?? ""];
  const pages = {
    runs: "runs",
    run: `run/${killed}`,
    compact: `run/${runs.get("A-1002") ?? ""}?view=compact`,
    transcript: `run/${killed}?tab=transcript&call=c3`,
    why: `run/${killed}?tab=why`,
    state: `run/${killed}?tab=state`,
    cost: `run/${killed}?tab=cost`,
    approval: `needs?run=${refund}`,
    unknown: `needs?run=${runs.get("A-1013") ?? ""}`,
    needs: "needs",
    schedules: "schedules",
    agent: "agents/complaints",
    failed: `run/${runs.get("X-1") ?? ""}`,
    round: `run/${runs.get("round") ?? ""}`,
    family: `run/${runs.get("round") ?? ""}?tab=family`,
    health: "health",
  };
  const context = await browser.newContext({
    viewport: { width, height: width === 390 ? 780 : 800 },
    colorScheme: scheme,
    deviceScaleFactor: 1,
  });
  const page = await context.newPage();
  for (const [name, path] of Object.entries(pages)) {
    await page.goto(`${url}/#/${path}`);
    await page.waitForSelector("main section:not(:has([aria-busy]))");
    await elapse(900);
    writeFileSync(
      join(OUT, `${name}-${width}-${scheme}.png`),
      quantised(await page.screenshot({ animations: "disabled" })),
    );
    console.log(`${name}-${width}-${scheme}.png`);
  }
  await context.close();
}

function startServer(dir: string, port: number): ChildProcess {
  const main = join(ROOT, "src", "cli", "main.ts");
  const env = { ...process.env, CAIRN_STORE: join(dir, "store"), CAIRN_BEAT_SECONDS: "20" };
  const stdio = ["ignore", "ignore", "inherit"] as const;
  return spawn(process.execPath, ["--no-warnings", main, "serve", "--port", String(port), "--workers", "2"], {
    cwd: dir,
    env,
    stdio: [...stdio],
  });
}

async function start(url: string, agent: string, input: object): Promise<string> {
  const body = JSON.stringify({ agent, input });
  const answer = await fetch(`${url}/runs`, { method: "POST", body, headers: { "content-type": "application/json" } });
  if (!answer.ok) throw new Error(await answer.text());
  return ((await answer.json()) as { readonly run: string }).run;
}

const listed = async (url: string, status: string): Promise<number> =>
  ((await (await fetch(`${url}/runs?status=${status}`)).json()) as { readonly runs: readonly unknown[] }).runs.length;
const blocked = (url: string): Promise<number> => listed(url, "blocked");
const running = async (url: string): Promise<number> => (await listed(url, "running")) + (await listed(url, "queued"));

async function waiting(url: string): Promise<number> {
  const page = (await (await fetch(`${url}/approvals`)).json()) as {
    readonly gates: readonly unknown[];
    readonly questions: readonly unknown[];
  };
  return page.gates.length + page.questions.length;
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 180_000; performance.now() < end; await elapse(300)) if (await holds()) return;
  throw new Error("the runs of the desk did not get where they should");
}

/** A port that is free now. */
const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });

/** Copies the pictures that README.md or a page of `docs` shows. */
function keepShown(): void {
  const pages = ["README.md", ...readdirSync(join(ROOT, "docs")).map((name) => join("docs", name))];
  const texts = pages.filter((page) => page.endsWith(".md")).map((page) => readFileSync(join(ROOT, page), "utf8"));
  const shown = texts.flatMap((text) => [...text.matchAll(/console\/([\w-]+\.png)/g)].map(([, name = ""]) => name));
  for (const name of new Set(shown)) copyFileSync(join(OUT, name), join(SHOWN, name));
}

await main();
keepShown();
