/**
 * Which calls of user code or of foreign servers a beat waits for, read from the syntax trees: each of them goes through
 * a helper that bounds it by the time of the beat.
 */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { virtualClock } from "../../../src/adapters/memory/clock.ts";
import { askInTime } from "../../../src/engine/tools/ask-in-time.ts";
import type { World } from "../../../src/ports/world.ts";
import { createHarness, neverSettles } from "../../support/harness/harness.ts";
import { type Node, lineOf, nameOf, readSource } from "../../support/rules/source.ts";
import { MAY_BE_ASYNCHRONOUS } from "../../support/rules/user-functions.ts";

const ROOT = join(import.meta.dirname, "../../..");

/** What bounds a call in its arguments. `settle` is the call of a tool, which `attemptTool` gives its timeout. */
const BOUNDS: ReadonlySet<string> = new Set(["askInTime", "askUserCode", "settle", "within", "ask"]);

/** Members of the ports whose functions may return a promise, by the text of their types. */
function membersOf(file: string): readonly string[] {
  const found: string[] = [];
  readSource(file, readFileSync(join(ROOT, file), "utf8"), (node, { text }) => {
    if (node.type !== "TSPropertySignature" && node.type !== "TSMethodSignature") return;
    const type = text.slice(node.start, node.end).replaceAll(/\/\*.*?\*\//gs, "");
    const isFunction = node.type === "TSMethodSignature" || type.includes("=>") || type.includes("ApprovalRule");
    if (isFunction && /Promise<|=> unknown|ApprovalRule/.test(type)) found.push(nameOf(node["key"]));
  });
  return [...new Set(found)];
}

/** The calls of such members in a file that no bound is around, also under another name that a pattern gives them. */
function unboundedIn(file: string, text: string, members: ReadonlySet<string>): readonly string[] {
  const aliases = new Set<string>();
  readSource(file, text, (node) => {
    if (node.type !== "Property") return;
    const [key, value] = [nameOf(node["key"]), node["value"] as Node];
    const isPattern = node.parent?.type === "ObjectPattern";
    if (isPattern && members.has(key)) aliases.add(nameOf(value.type === "AssignmentPattern" ? value["left"] : value));
    if (!isPattern && value.type === "MemberExpression" && members.has(nameOf(value["property"]))) aliases.add(key);
  });
  const found: string[] = [];
  readSource(file, text, (node, source) => {
    if (node.type !== "CallExpression") return;
    const callee = node["callee"] as Node;
    const [isMember, name] = [callee.type === "MemberExpression", nameOf(callee["property"] ?? callee)];
    if (!(isMember ? members.has(name) || aliases.has(name) : aliases.has(name))) return;
    if (isBounded(node)) return;
    found.push(`${file}:${lineOf(source, node.start)} ${source.text.slice(callee.start, callee.end)}`);
  });
  return found;
}

/** Whether it stands in a function that a bound gets as an argument. */
function isBounded(node: Node): boolean {
  let isInFunction = false;
  for (let around = node.parent; around !== null; around = around.parent) {
    isInFunction ||= around.type === "ArrowFunctionExpression";
    if (isInFunction && around.type === "CallExpression" && BOUNDS.has(nameOf(around["callee"]))) return true;
  }
  return false;
}

const filesOf = (dir: string): readonly string[] =>
  readdirSync(join(ROOT, dir), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => `${dir}/${name}`);

/**
 * Calls that are bounded in another way, each with how. A call that is not in here and not in a bound fails the test.
 */
const OTHERWISE: readonly (readonly [call: RegExp, why: string])[] = [
  [/^src\/engine\/model\/model-request\.ts:\d+ model\.ask$/, "a timeout aborts it, and its grace ends the wait"],
  [/ (runner\.|of\.|from\.)?agentOf$/, "`beat` gives the steps an agentOf that it has bounded"],
  [/(?<! detached)\.find$/, "of a list, and no search for a model job"],
  [/^src\/engine\/context\/agent-sources\.ts:\d+ ask$/, "it is the bound, which the step gives"],
  [/^src\/engine\/model\/role\.ts:\d+ approval$/, "a policy made of a policy"],
  [/^src\/engine\/tools\/tools\.ts:\d+ (run|probe)$/, "the tool that undoes a call, made of functions of its undo"],
  [/ memory\.(search|get|put)$/, "cairn's own memory, in the store of the run"],
];

test("each call of user code that a beat waits for is bounded by the time of the beat", () => {
  const members = new Set(MAY_BE_ASYNCHRONOUS.map(({ member }) => member));
  const all = filesOf("src/engine").flatMap((file) =>
    unboundedIn(file, readFileSync(join(ROOT, file), "utf8"), members),
  );
  expect(all.filter((call) => !OTHERWISE.some(([pattern]) => pattern.test(call)))).toEqual([]);
});

/** What cairn's client of MCP servers awaits of a server or of the user, each with what ends the wait. */
const OF_SERVERS: readonly (readonly [call: RegExp, why: string])[] = [
  [/connection\.ts:\d+ live\.client\.listTools$/, "`connectMs` ends the request"],
  [/open\.ts:\d+ client\.connect$/, "`connectMs` ends the request, and `within` what it waits for before"],
  [/open\.ts:\d+ client\.close$/, "it is a part of what `within` bounds"],
  [/stdio-transport\.ts:\d+ this\.close$/, "nobody waits for it"],
  [/connection\.ts:\d+ (live\.)?client\.close$/, "nobody waits for it"],
  [/call\.ts:\d+ live\.client\.callTool$/, "the signal of the call, which `attemptTool` fires, ends it"],
  [/authorization\.ts:\d+ token$/, "a race with half of `connectMs`"],
];

test("each request to a server of tools, and each function of its author, is bounded", () => {
  const members = new Set(["connect", "listTools", "callTool", "close", "token"]);
  const all = filesOf("src/mcp-tools").flatMap((file) =>
    unboundedIn(file, readFileSync(join(ROOT, file), "utf8"), members),
  );
  expect(all.filter((call) => !OF_SERVERS.some(([pattern]) => pattern.test(call)))).toEqual([]);
  // Each row stands for a call that is there.
  expect(OF_SERVERS.filter(([pattern]) => !all.some((call) => pattern.test(call)))).toEqual([]);
});

test("the table of user functions has each function of the ports that may return a promise", () => {
  const members = ["src/ports/agent.ts", "src/ports/model.ts"].flatMap(membersOf);
  const known = new Set(MAY_BE_ASYNCHRONOUS.map(({ member }) => member));
  expect(members.filter((member) => !known.has(member) && !OF_CAIRN.has(member))).toEqual([]);
  // Each row stands for something that is there.
  const found = new Set([...members, "agentOf", "functions"]);
  expect([...known].filter((member) => !found.has(member))).toEqual([]);
});

/** Functions that cairn gives to user code, which waits for them, or that must not return a promise. */
const OF_CAIRN: ReadonlySet<string> = new Set([
  "callback",
  "read",
  "get",
  "log",
  "fetchSource",
  "onExists",
  "when",
  "wasGiven",
]);

test("the rule finds an await without a bound, also under another name", () => {
  const members = new Set(["holds", "recall"]);
  const finds = (text: string): readonly string[] => unboundedIn("x.ts", text, members);
  expect(finds("await check.holds(view);")).toEqual(["x.ts:1 check.holds"]);
  expect(finds("const { recall: query } = memory;\nawait query(task);")).toEqual(["x.ts:2 query"]);
  expect(finds("const { holds } = check; await askInTime(run, {}, () => holds(view));")).toEqual([]);
  expect(finds("await askInTime(run, {}, check.holds(view));")).toEqual(["x.ts:1 check.holds"]);
});

test("an answer is a value, an error is said, and silence ends with the time of the beat", async () => {
  const harness = createHarness();
  const clock = virtualClock(0);
  const running: string[] = [];
  const world: World = {
    ...harness.world,
    clock,
    announce: ({ what }) => {
      running.push(what);
      return () => void running.splice(running.indexOf(what), 1);
    },
  };
  const run = { world, row: { run: "r" }, leftMs: 700 };
  const told = (ask: () => unknown, most?: number) => askInTime(run, { what: "it", ...(most && { most }) }, ask);
  expect(await told(() => null)).toEqual({ kind: "said", value: null });
  const error = new Error("no");
  expect(await told(() => Promise.reject(error))).toEqual({ kind: "threw", why: "no", error });
  expect(
    await told(() => {
      throw error;
    }),
  ).toEqual({ kind: "threw", why: "no", error });
  expect(running).toEqual([]);
  const [late, sooner] = [told(neverSettles), told(neverSettles, 200)];
  clock.moveTo(200);
  expect(await sooner).toEqual({ kind: "late", why: "no answer within 200 ms" });
  clock.moveTo(5_000);
  expect(await late).toEqual({ kind: "late", why: "no answer within 700 ms" });
  // It runs on, and whoever asks what the process is at hears of it.
  expect(running).toEqual(["it", "it"]);
});
