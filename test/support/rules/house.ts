/**
 * What the structure of `src` costs its readers, as figures: cycles between its rooms (without the doors of `doors.ts`), what one has to hold to change a
 * beat, names that stand for several things, and marks of code that was cut where no joint is. Types and dynamic imports
 * count, unless a figure says otherwise.
 */
import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { featureOf, isKernel } from "./doors.ts";
import { type Import, type Node, filesBelow, nameOf, readSource } from "./source.ts";

/** One figure. Lower is better for each of them. */
interface Figure {
  readonly name: string;
  readonly value: number;
  /** Where it stands, for a reader: the largest or first places. */
  readonly examples: readonly string[];
}

/** A file of `src`, as far as the figures need it. */
interface HouseFile {
  readonly path: string;
  readonly imports: readonly Import[];
  /** Lines that hold code: no blank ones and no comments. */
  readonly codeLines: number;
  readonly lines: number;
  readonly text: string;
  readonly exportedTypes: readonly string[];
  readonly exportedFunctions: readonly string[];
  /** Parameters with the name `of`. */
  readonly ofs: number;
  /** Literals such as `...{ a, b }`, which save lines and say nothing. */
  readonly spreadGroups: number;
}

/** The room of a path: its folder in `src`, and in `src/adapters` the adapter. */
function roomOf(path: string): string {
  const parts = posix.dirname(path).split("/");
  return parts.slice(0, parts[1] === "adapters" ? 3 : 2).join("/");
}

export function readHouse(root: string): readonly HouseFile[] {
  return filesBelow(root)
    .filter((path) => /^src\/.*\.tsx?$/.test(path))
    .map((path) => houseFile(path, readFileSync(join(root, path), "utf8")));
}

export function houseFile(path: string, text: string): HouseFile {
  const exportedTypes: string[] = [];
  const exportedFunctions: string[] = [];
  let [ofs, spreadGroups] = [0, 0];
  const { imports } = readSource(path, text, (node) => {
    if (node.type === "SpreadElement" && typeOf(node["argument"]) === "ObjectExpression") spreadGroups += 1;
    ofs += parametersOf(node).filter(
      (each) => nameOf(typeOf(each) === "AssignmentPattern" ? each["left"] : each) === "of",
    ).length;
    if (!isExported(node)) return;
    if (/^TS(TypeAlias|Interface)Declaration$/.test(node.type)) exportedTypes.push(nameOf(node["id"]));
    if (node.type === "FunctionDeclaration") exportedFunctions.push(nameOf(node["id"]));
    if (node.type === "VariableDeclarator" && isFunction(node["init"])) exportedFunctions.push(nameOf(node["id"]));
  });
  const lines = text.split("\n");
  return {
    ...{ path, imports, text, exportedTypes, exportedFunctions, ofs, spreadGroups },
    ...{ lines: lines.length - 1, codeLines: codeLinesIn(text) },
  };
}

const typeOf = (node: unknown): string => (node as Node | null | undefined)?.type ?? "";
const isFunction = (node: unknown): boolean => /^(ArrowFunction|Function)Expression$/.test(typeOf(node));

/** Overloads without a body are the same function. */
function isExported(node: Node): boolean {
  const declaration = node.type === "VariableDeclarator" ? node.parent : node;
  return declaration?.parent?.type === "ExportNamedDeclaration" && declaration.parent["declaration"] === declaration;
}

function parametersOf(node: Node): readonly Node[] {
  if (node.type !== "FunctionDeclaration" && !isFunction(node)) return [];
  const parameters = node["params"];
  return Array.isArray(parameters) ? (parameters as readonly Node[]) : [];
}

/** A comment begins its line in this code, except behind code on the same line, which counts as code. */
function codeLinesIn(text: string): number {
  let isComment = false;
  let count = 0;
  for (const line of text.split("\n").map((each) => each.trim())) {
    if (line.startsWith("/*")) isComment = true;
    const isCode = !isComment && line !== "" && !line.startsWith("//");
    if (line.endsWith("*/")) isComment = false;
    if (isCode) count += 1;
  }
  return count;
}

type Follows = (each: Import) => boolean;

/** Every file that is reached from that one. */
export function closure(
  files: readonly HouseFile[],
  entry: string,
  follows: Follows = () => true,
): readonly HouseFile[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const reached = new Set([entry]);
  for (const path of reached) {
    for (const each of byPath.get(path)?.imports ?? []) {
      if (each.ours && follows(each) && byPath.has(each.from)) reached.add(each.from);
    }
  }
  return [...reached].flatMap((path) => byPath.get(path) ?? []);
}

/** The groups of rooms that import each other in a circle, each in alphabetical order. */
export function roomCycles(files: readonly HouseFile[]): readonly (readonly string[])[] {
  const arrows = roomArrows(files);
  const rooms = [...arrows.keys()].toSorted();
  const reach = new Map(rooms.map((room) => [room, reachableFrom(arrows, room)]));
  const isCircle = (one: string, other: string): boolean =>
    one === other || (reach.get(one)?.has(other) === true && reach.get(other)?.has(one) === true);
  const groups = rooms.map((room) => rooms.filter((other) => isCircle(room, other)));
  return groups.filter((group, index) => group.length > 1 && group[0] === rooms[index]);
}

/** How many floors the picture of imports has, where rooms that import each other share one. */
export function floors(files: readonly HouseFile[]): number {
  const arrows = roomArrows(files);
  const cycles = roomCycles(files);
  const groupOf = (room: string): string => cycles.find((group) => group.includes(room))?.[0] ?? room;
  const below = new Map<string, Set<string>>();
  for (const [room, targets] of arrows) {
    const group = below.get(groupOf(room)) ?? new Set<string>();
    for (const target of targets) if (groupOf(target) !== groupOf(room)) group.add(groupOf(target));
    below.set(groupOf(room), group);
  }
  const heights = new Map<string, number>();
  const heightOf = (group: string): number => {
    const known = heights.get(group);
    if (known !== undefined) return known;
    const height = 1 + Math.max(0, ...[...(below.get(group) ?? [])].map(heightOf));
    heights.set(group, height);
    return height;
  };
  return Math.max(...[...below.keys()].map(heightOf));
}

function roomArrows(files: readonly HouseFile[]): ReadonlyMap<string, ReadonlySet<string>> {
  const known = new Set(files.map(({ path }) => path));
  const arrows = new Map<string, Set<string>>();
  for (const { path, imports } of files) {
    const targets = arrows.get(roomOf(path)) ?? new Set<string>();
    for (const { from, ours } of imports) {
      const isDoor = isKernel(path) && featureOf(from) !== null;
      if (ours && known.has(from) && roomOf(from) !== roomOf(path) && !isDoor) targets.add(roomOf(from));
    }
    arrows.set(roomOf(path), targets);
  }
  return arrows;
}

function reachableFrom(arrows: ReadonlyMap<string, ReadonlySet<string>>, room: string): ReadonlySet<string> {
  const reached = new Set<string>(arrows.get(room));
  for (const each of reached) for (const next of arrows.get(each) ?? []) reached.add(next);
  return reached;
}

/** Names that stand for more than one thing, most often used first. */
function homonyms(names: readonly (readonly [name: string, place: string])[]): readonly string[] {
  const places = Map.groupBy(names, ([name]) => name);
  return [...places]
    .filter(([, all]) => new Set(all.map(([, place]) => place)).size > 1)
    .toSorted(([, one], [, other]) => other.length - one.length)
    .map(([name, all]) => `${name}: ${[...new Set(all.map(([, place]) => place))].join(", ")}`);
}

/** A feature, by words that only its code needs. */
const FEATURES = {
  "model jobs": /\b(modelJob|ModelJob|detached|Detached)\w*/,
  waits: /\b(heldWait|openWaits|WaitKind|waitsFor|Wait|wait\.for)\b/,
  memory: /\b(memory|Memory|remember|recall)\w*/,
} as const;

/** What is loaded at once. */
const byValue: Follows = ({ erased, deferred }) => !erased && !deferred;

/** The figures of a house, in the order of its table. */
export function figuresOf(files: readonly HouseFile[]): readonly Figure[] {
  const beat = closure(files, "src/engine/loop/beat.ts");
  // The composition also joins the kernel and the ports of a world, of which the rules know nothing.
  const rules = closure(files, "src/features/compose.ts", ({ from }) => !from.startsWith("src/ports/"));
  const lines = (of: readonly HouseFile[]): number => of.reduce((sum, { codeLines }) => sum + codeLines, 0);
  const cycles = roomCycles(files);
  const oneImporter = files.filter(({ path }) => importersOf(files).get(path) === 1).map(({ path }) => path);
  const types = homonyms(
    files.flatMap(({ path, exportedTypes }) => exportedTypes.map((name) => [name, path] as const)),
  );
  const functions = homonyms(
    files.flatMap(({ path, exportedFunctions }) => exportedFunctions.map((name) => [name, roomOf(path)] as const)),
  );
  const counted = (name: string, value: (file: HouseFile) => number): Figure => ({
    name,
    value: files.reduce((sum, file) => sum + value(file), 0),
    examples: mostOf(files, value),
  });
  return [
    figure("files that a beat reaches", beat),
    {
      name: "code lines that a beat reaches",
      value: lines(beat),
      examples: mostOf(beat, ({ codeLines }) => codeLines),
    },
    figure("files that the rules reach", rules),
    {
      name: "code lines that the rules reach",
      value: lines(rules),
      examples: mostOf(rules, ({ codeLines }) => codeLines),
    },
    figure("files that the client loads", closure(files, "src/client/index.ts", byValue)),
    figure("files that the client names, types and import() included", closure(files, "src/client/index.ts")),
    figure("files that the client of a browser loads", closure(files, "src/client/browser.ts", byValue)),
    ...Object.entries(FEATURES).map(([feature, words]) =>
      figure(
        `kernel files that name ${feature}`,
        files.filter(({ path, text }) => isKernel(path) && words.test(text)),
      ),
    ),
    figure(
      "kernel files that import a feature",
      files.filter(({ path, imports }) => isKernel(path) && imports.some(({ from }) => featureOf(from) !== null)),
    ),
    { name: "rooms in a circle", value: cycles.flat().length, examples: cycles.map((group) => group.join(" ⇄ ")) },
    { name: "floors of rooms", value: floors(files), examples: [] },
    { name: "exported types with a name of others", value: types.length, examples: types },
    { name: "exported functions with a name of another room", value: functions.length, examples: functions },
    counted("parameters called of", ({ ofs }) => ofs),
    counted("spread groups in literals", ({ spreadGroups }) => spreadGroups),
    { name: "files with one importer", value: oneImporter.length, examples: oneImporter },
    counted("lines of src", (file) => file.lines),
  ];
}

const figure = (name: string, files: readonly HouseFile[]): Figure => ({
  name,
  value: files.length,
  examples: files.map(({ path }) => path),
});

const mostOf = (files: readonly HouseFile[], value: (file: HouseFile) => number): readonly string[] =>
  files
    .filter((file) => value(file) > 0)
    .toSorted((one, other) => value(other) - value(one))
    .map((file) => `${file.path}: ${value(file)}`);

function importersOf(files: readonly HouseFile[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { imports } of files) {
    for (const from of new Set(imports.filter(({ ours }) => ours).map((each) => each.from))) {
      counts.set(from, (counts.get(from) ?? 0) + 1);
    }
  }
  return counts;
}
