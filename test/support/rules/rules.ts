/** The checkers of single files. */
import { EFFECT_NAMES } from "../../../src/core/calls/effects.ts";
import { type Import, type Node, type Source, isWithin, lineOf, memberOf, nameOf, rootOf } from "./source.ts";

/** A violation in a file. */
export interface Finding {
  readonly line: number;
  readonly what: string;
}

/** What a rule looks for. All rules share one walk over the nodes of a file. */
export interface Check {
  /** Whether a node offends; it is reported by its line and its text. */
  readonly node?: (node: Node, source: Source) => boolean;
  /** What offends in the file as a whole, whose imports are known. */
  readonly file?: (source: Source) => readonly Finding[];
}

type Sample = readonly [path: string, text: string];

/** A rule of the house, with sources that offend it, and ones that look alike and do not. */
export interface Rule {
  readonly says: string;
  /** What the author of a violation does. */
  readonly todo: string;
  readonly where: RegExp;
  readonly check: Check;
  readonly bites: readonly Sample[];
  readonly spares: readonly Sample[];
}

export const wholeFile = (what: string): Finding => ({ line: 1, what });
export const importing = ({ from, line }: Import): Finding => ({ line, what: `imports ${from}` });

/** Imports that offend. */
export const imports = (offends: (each: Import) => boolean): Check => ({
  file: (source) => source.imports.filter(offends).map(importing),
});

export const usingAws = imports(({ from }) => /^(@aws-sdk|@aws-lambda-powertools|@smithy|aws-)/.test(from));

export const readingEnvironment: Check = {
  node: (node) => {
    const isImported = node.type === "ImportSpecifier" && nameOf(node["imported"]) === "env";
    return memberOf(node) === "process.env" || (isImported && nameOf(node.parent?.["source"]) === "node:process");
  },
};

/** A free identifier, not a key or a member name. */
function freeName(node: Node): string {
  const { parent } = node;
  if (node.type !== "Identifier" || parent === null || parent["computed"] === true) return nameOf(node);
  const isMember = parent["property"] === node;
  const isKey = parent["key"] === node && parent["shorthand"] !== true;
  return isMember || isKey ? "" : nameOf(node);
}

const OUTSIDE =
  /^(Promise|Date|Temporal|process|console|globalThis|fetch|crypto|performance|Buffer|Abort(Controller|Signal)|set(Timeout|Interval|Immediate)|queueMicrotask)$/;
const WAITING = /^(AwaitExpression|YieldExpression)$/;

export const impure: Check = {
  node: (node) => {
    const isAsync = node["async"] === true || node["await"] === true || WAITING.test(node.type);
    return isAsync || memberOf(node) === "Math.random" || (node.type === "Identifier" && OUTSIDE.test(freeName(node)));
  },
};

const CHANCE = /^(Date|Temporal|performance|set(Timeout|Interval|Immediate)|random(UUID|Bytes|Int)|getRandomValues)$/;

/** Time and randomness that do not come through a port. A date made from a given time is allowed. */
export const timeless: Check = {
  node: (node) => {
    const { parent } = node;
    const isMade = parent?.type === "NewExpression" && (parent["arguments"] as readonly unknown[]).length > 0;
    const isGiven = isMade || (parent !== null && /^Date\.(parse|UTC)$/.test(memberOf(parent)));
    const isChance = node.type === "Identifier" && CHANCE.test(freeName(node)) && !isGiven;
    return isChance || /^(Math\.random|AbortSignal\.timeout)$/.test(memberOf(node));
  },
};

const EFFECT_CLASSES: ReadonlySet<string> = new Set(EFFECT_NAMES);
/** Classes whose names mean other things as well. They offend only where they are compared with an effect. */
const WORDS_OF_OTHERS = /^(none|idempotent)$/;

/** A decision by the name of an effect class, instead of by its row in the effect table. */
export const namingEffect: Check = {
  node: (node) => {
    const { parent } = node;
    if (node.type !== "Literal") return false;
    if (!EFFECT_CLASSES.has(nameOf(node))) return false;
    if (!WORDS_OF_OTHERS.test(nameOf(node))) return true;
    if (parent?.type !== "BinaryExpression") return false;
    return [parent["left"], parent["right"]].some((side) => /\beffect$/i.test(endOf(side)));
  },
};

/** The last name of `a`, `a.b` and `a?.b`. */
function endOf(side: unknown): string {
  const node = side as Node;
  if (node.type === "ChainExpression") return endOf(node["expression"]);
  return node.type === "MemberExpression" ? nameOf(node["property"]) : node.type === "Identifier" ? nameOf(node) : "";
}

const FUNCTION = /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/;

/** The callback of `describe` groups tests; its length is not limited. */
export const longFunction: Check = {
  node: (node, source) => {
    if (!FUNCTION.test(node.type)) return false;
    const { parent } = node;
    const isGroup = parent?.type === "CallExpression" && rootOf(parent["callee"]) === "describe";
    return !isGroup && lineOf(source, node.end) - lineOf(source, node.start) >= FUNCTION_LINES_MAX;
  },
};

export const FUNCTION_LINES_MAX = 100;

export const longFile: Check = {
  file: ({ text }) => {
    const lines = text.trimEnd().split("\n").length;
    const saysWhy = /^(\/\*\*| \*).*\bMore than \d+ lines: \S/m.test(text.slice(0, 1_000));
    return lines > FILE_LINES_MAX && !saysWhy ? [wholeFile(`${lines} lines`)] : [];
  },
};

export const FILE_LINES_MAX = 400;

/** An adapter may have a folder for each service that it uses, and a feature one for each of its kinds. */
export const deep: Check = {
  file: ({ path }) => {
    const foldersMax = /^src\/(adapters|features)\//.test(path) ? 3 : 2;
    return path.split("/").length - 2 > foldersMax ? [wholeFile("is too deep")] : [];
  },
};

export const defaultExport: Check = {
  node: (node) => {
    const isNamedDefault = node.type === "ExportSpecifier" && nameOf(node["exported"]) === "default";
    return node.type === "ExportDefaultDeclaration" || isNamedDefault;
  },
};

/** A declaration of a package's types, which has a quoted name, needs no erasure. */
export const unerasable: Check = {
  node: (node) =>
    /^TS(Enum|Module)Declaration$/.test(node.type) && (node["id"] as Node | undefined)?.type !== "Literal",
};

export const anything: Check = { node: (node) => node.type === "TSAnyKeyword" };

const FORBIDDEN = /^(data|infos?|managers?|helpers?|utils?|common|misc|jobs?|sessions?|locks?)$/;

/** Most names occur often. */
const judged = new Map<string, boolean>();

function isForbidden(name: string): boolean {
  const known = judged.get(name);
  if (known !== undefined) return known;
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase();
  const is = words.split(/[^a-z0-9]+/).some((word) => FORBIDDEN.test(word));
  judged.set(name, is);
  return is;
}

export const badName: Check = {
  file: ({ path }) => (isForbidden(path) ? [wholeFile("the path")] : []),
  node: (node) => isForbidden(chosenName(node)),
};

const DECLARING = /^(VariableDeclarator|(Function|Class|TSInterface|TSTypeAlias)Declaration|TSTypeParameter)$/;
const KEYED = /^(PropertyDefinition|MethodDefinition|TSPropertySignature|TSMethodSignature)$/;

/** Names that cairn chooses: not members and keys of foreign objects, nor destructured ones. */
function chosenName(node: Node): string {
  const { parent } = node;
  if (KEYED.test(node.type)) return nameOf(node["key"]);
  if (node.type !== "Identifier" || parent === null) return "";
  const { type } = parent;
  const isChosen =
    (DECLARING.test(type) && (parent["id"] === node || parent["name"] === node)) ||
    (FUNCTION.test(type) && (parent["params"] as readonly Node[]).includes(node)) ||
    (type === "Property" &&
      parent.parent?.type === "ObjectPattern" &&
      parent["value"] === node &&
      !parent["shorthand"]) ||
    (type === "ImportSpecifier" && parent["local"] === node && nameOf(parent["imported"]) !== nameOf(node)) ||
    type === "ArrayPattern";
  return isChosen ? nameOf(node) : "";
}

const TEST = /^(it|test|describe|suite|context|bench)$/;
const EXCUSE = /^(skip|only|todo|skipIf|runIf|fails)$/;

/** Skipped, focused, excused and retried tests. */
export const excusedTest: Check = {
  node: (node) => {
    if (node.type === "MemberExpression") return EXCUSE.test(nameOf(node["property"])) && TEST.test(rootOf(node));
    if (node.type !== "Property") return false;
    const { parent } = node;
    if (parent?.type === "ObjectPattern") return nameOf(node["key"]) === "skip";
    const call = parent?.parent;
    const isOption =
      call?.type === "CallExpression" && /^(it|test|describe|suite|defineConfig)$/.test(rootOf(call["callee"]));
    return nameOf(node["key"]) === "retry" && (isOption || isWithin(node, isConfig));
  },
};

const isConfig = (node: Node): boolean => node.type === "CallExpression" && rootOf(node["callee"]) === "defineConfig";

/**
 * Tests that wait for a fixed time. A test must wait for a condition, with a limit; timers that act later are allowed.
 */
export const sleepingTest: Check = {
  node: (node) => {
    if (node.type === "ImportDeclaration") return nameOf(node["source"]).startsWith("node:timers");
    const isTimer = node.type === "CallExpression" && /^(setTimeout|setInterval)$/.test(nameOf(node["callee"]));
    return (isTimer && isWithin(node, isPromise)) || memberOf(node) === "Atomics.wait";
  },
};

const isPromise = (node: Node): boolean => node.type === "NewExpression" && nameOf(node["callee"]) === "Promise";

const MATCHES = /^to(Equal|StrictEqual|MatchObject)$/;

/**
 * `expect([a, b]).toEqual([1, "x"])`, where a value says only by its place what it is. A list of answers to one question is
 * none: its elements differ only in variables and arguments.
 */
export const unnamedTuple: Check = {
  node: (node) => {
    if (node.type !== "CallExpression" || !MATCHES.test(nameOf((node["callee"] as Node)["property"]))) return false;
    const [wanted] = node["arguments"] as readonly Node[];
    const parts = bare(expectedIn(node["callee"]))?.["elements"] as readonly (Node | null)[] | undefined;
    if (!isList(bare(wanted)) || parts === undefined || parts.length < 2) return false;
    const forms = parts.map((part) => formOf(part));
    return forms.includes("") || new Set(forms).size > 1;
  },
};

/** A list as it is written, or one of two. */
const isList = (node: Node | undefined): boolean =>
  node?.type === "ArrayExpression" ||
  (node?.type === "ConditionalExpression" && isList(bare(node["consequent"] as Node)));

/** What `expect` is given in `expect(it, why).not.toEqual`; undefined if the chain begins otherwise. */
function expectedIn(chain: unknown): Node | undefined {
  const node = chain as Node | undefined;
  if (node?.type === "MemberExpression") return expectedIn(node["object"]);
  const isExpect = node?.type === "CallExpression" && nameOf(node["callee"]) === "expect";
  return isExpect ? (node["arguments"] as readonly Node[])[0] : undefined;
}

/** The node within casts. */
const bare = (node: Node | undefined): Node | undefined =>
  /^(TSAs|TSSatisfies|Parenthesized)Expression$/.test(node?.type ?? "") ? bare(node?.["expression"] as Node) : node;

/** What an element of a list asks, without the names of variables and the arguments; nothing for a mere variable. */
function formOf(part: Node | null): string {
  if (part === null || part.type === "Identifier") return "";
  const inner = (part["object"] ?? part["callee"] ?? part["expression"] ?? part["argument"]) as Node | undefined;
  const own =
    part.type === "CallExpression" ? nameOf(part["callee"]) : part["computed"] === true ? "" : nameOf(part["property"]);
  return `${part.type} ${own}${inner === undefined ? "" : ` (${formOf(inner)})`}`;
}
