/** Rules for the limits of tests: they come from one table, which is scaled to the machine. */
import type { Check, Rule } from "./rules.ts";
import { type Node, memberOf, nameOf } from "./source.ts";

const OPTION = /^(timeout|testTimeout|hookTimeout)$/;
const DECLARES = /^(it|test|describe|suite|beforeAll|beforeEach|afterAll|afterEach)$/;
const MODIFIES = /^(each|for|concurrent|sequential)$/;
const TAKES_OPTIONS = /^(expect\.poll|vi\.(waitFor|waitUntil|setConfig))$/;
const WAITS = /^vi\.(waitFor|waitUntil)$/;

/** `test`, `test.concurrent`, `test.each(rows)` and their like, which declare a test or a hook when they are called. */
function isDeclaring(callee: Node): boolean {
  if (callee.type === "MemberExpression") {
    return MODIFIES.test(nameOf(callee["property"])) && isDeclaring(callee["object"] as Node);
  }
  const inner = callee["callee"] ?? callee["tag"];
  return inner === undefined ? DECLARES.test(nameOf(callee)) : isDeclaring(inner as Node);
}

/** A number of the test's own as a limit: as an option, or as the last argument. */
const ownLimit: Check = { node: (node) => isLimit(node) && isOwnNumber(node) };

function isLimit(node: Node): boolean {
  const { parent } = node;
  if (parent?.type === "Property") {
    const call = parent.parent?.parent;
    const isOption = parent["value"] === node && OPTION.test(nameOf(parent["key"]));
    if (!isOption || call?.type !== "CallExpression") return false;
    const callee = call["callee"] as Node;
    return isDeclaring(callee) || TAKES_OPTIONS.test(memberOf(callee));
  }
  if (parent?.type !== "CallExpression" || parent["callee"] === node) return false;
  const given = parent["arguments"] as readonly Node[];
  const callee = parent["callee"] as Node;
  if (nameOf(callee) === "waitForCount") return given.indexOf(node) === 3;
  const isLast = given.length > 1 && given.at(-1) === node;
  return isLast && (isDeclaring(callee) || WAITS.test(memberOf(callee)));
}

/**
 * A number, a sum or product of numbers, or the name of one in this file. `from`: the visited node, around which names are
 * sought, since nodes within it have no parent yet.
 */
function isOwnNumber(node: Node, from: Node = node): boolean {
  if (node.type === "Literal") return typeof node["value"] === "number";
  if (node.type === "BinaryExpression") {
    return [node["left"], node["right"]].every((side) => isOwnNumber(side as Node, from));
  }
  const value = node.type === "Identifier" ? valueOf(nameOf(node), from) : null;
  return value !== null && isOwnNumber(value, from);
}

/** What a constant of that name is given in a block around the node, innermost first; null if it has none here. */
function valueOf(name: string, from: Node): Node | null {
  for (let around = from.parent; around !== null; around = around.parent) {
    const { body } = around;
    if (!Array.isArray(body)) continue;
    const declared = (body as readonly Node[])
      .flatMap((each) => (each["declarations"] ?? []) as readonly Node[])
      .find(({ id }) => nameOf(id) === name);
    if (declared !== undefined) return (declared["init"] as Node | null) ?? null;
  }
  return null;
}

/** What random kills of processes may bring about, or not. */
const BY_CHANCE = /\b(takeovers|attemptFailed|kills)\b/;

/** `expect(TAKEOVERS).toBeGreaterThan(0)` and its like. */
const luckyClaim: Check = {
  node: (node, { text }) => {
    const callee = node["callee"] as Node | undefined;
    if (callee?.type !== "MemberExpression" || !/^toBeGreaterThan(OrEqual)?$/.test(nameOf(callee["property"])))
      return false;
    const claim = callee["object"] as Node;
    return nameOf(claim["callee"]) === "expect" && BY_CHANCE.test(text.slice(claim.start, claim.end));
  },
};

const TEST = "test/core/x.test.ts";
const KILLING = "test/slow/process/x.test.ts";

export const LIMIT_RULES: readonly Rule[] = [
  {
    says: "no claim about kills of processes needs luck",
    todo: "arrange the moment of one kill, and claim that it met something by requireEvent (docs/adr/0160-kills-that-meet-something.md)",
    where: /^test\/(process|slow\/(process|campaign|storm)|localstack)\//,
    check: luckyClaim,
    bites: [
      [KILLING, "expect(shown?.takeovers).toBeGreaterThan(0);"],
      [KILLING, 'expect(ofKind("attemptFailed").length, "why").toBeGreaterThanOrEqual(1);'],
      ["test/localstack/x.test.ts", "expect(kills).toBeGreaterThan(2);"],
    ],
    spares: [
      [KILLING, 'requireEvent("a run was taken over", shown.takeovers > 0); expect(shown.takeovers).toBeLessThan(2);'],
      [KILLING, "expect(row.takeovers).toBe(1); await expect.poll(() => kills).toBeGreaterThan(0);"],
    ],
  },
  {
    says: "a test has no limit of its own",
    todo: "leave it out, or take one of LIMITS (test/support/gate/limits.ts), which is scaled to the machine",
    where: /^test\/(?!support\/gate\/)/,
    check: ownLimit,
    bites: [
      [TEST, 'test("x", f, 20_000);'],
      [TEST, 'test("x", { timeout: 20_000 }, f);'],
      [TEST, 'describe("x", { timeout: 60 * 1_000 }, f);'],
      [TEST, 'test.each([1])("x", f, 20_000);'],
      [TEST, "beforeAll(f, 5_000);"],
      [TEST, "await expect.poll(f, { timeout: 5_000 }).toBe(1);"],
      [TEST, "await vi.waitFor(f, 5_000);"],
      [TEST, "await vi.waitUntil(f, { interval: 10, timeout: 5_000 });"],
      [TEST, 'await waitForCount("x", 1, f, 5_000);'],
      [TEST, "vi.setConfig({ testTimeout: 5_000 });"],
      [TEST, 'const LONG_MS = 5_000; test("x", f, LONG_MS);'],
      [TEST, 'const LONG_MS = 5_000; test("x", f, 2 * LONG_MS);'],
      [TEST, 'describe("x", () => { const timeout = 5_000; test("x", { timeout }, f); });'],
    ],
    spares: [
      [
        TEST,
        'test("x", f, LIMITS.sceneMs); test("x", { timeout: LIMITS.runMs * 2 }, f); beforeAll(f, LIMITS.startMs);',
      ],
      [TEST, "await expect.poll(f).toBe(1); await expect.poll(f, { interval: 100 }).toBe(1);"],
      [TEST, 'const patience = LIMITS.runMs; test("x", f, patience); await waitForCount("x", 4, f);'],
      [TEST, "expect(x).toBeCloseTo(1, 2); const options = { timeout: 5 }; connect({ timeout: 5 }); setTimeout(f, 5);"],
      [TEST, "expect(made).toMatchObject({ timeout: 120 }); const it = begin(); it.read(shown, 20);"],
    ],
  },
];
