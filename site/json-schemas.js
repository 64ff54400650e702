/**
 * `node site/json-schemas.js [--check]`, by `npm run json-schemas`: writes `docs/json-schemas.json`, for each command what it
 * prints with `--json`, as JSON Schema, and the table of `docs/json.md`. It reads the types of what `src/cli` hands to
 * `printDocument` and `printLines`, so a schema is what the compiler knows. Tests compare what commands print with it.
 *
 * It is JavaScript because the TypeScript of the checkout has no API to read types with; the one of `site` has.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import ts from "typescript";
import { pageWith, schemasText } from "../scripts/docs/json-page.ts";

const ROOT = join(import.meta.dirname, "..");
const CLI = join(ROOT, "src", "cli");

const program = ts.createProgram([join(CLI, "main.ts"), join(CLI, "process.ts")], {
  ...ts.parseJsonConfigFileContent(
    ts.readConfigFile(join(ROOT, "tsconfig.json"), (path) => ts.sys.readFile(path)).config,
    ts.sys,
    ROOT,
  ).options,
  noEmit: true,
});
const checker = program.getTypeChecker();

/** Which functions print what a command prints: those of its file, by file and name. */
const PRINTED_BY = {
  start: ["start#report", "wait#waitForRun"],
  work: ["work#supervised"],
  serve: ["work#supervised", "serve#serve", "serve#announce"],
  dev: ["work#supervised", "serve#serve", "serve#announce", "dev#tell"],
  send: ["steer#sendWords", "wait#waitForRun"],
  approvals: ["approve#listApprovals"],
  approve: ["approve#report"],
  deny: ["approve#report"],
  answer: ["answer#answerCall"],
  reconcile: ["reconcile#report"],
  signal: ["answer#signalEvent"],
  pause: ["steer#steerRun"],
  resume: ["steer#steerRun", "upgrade#upgradeRun"],
  cancel: ["steer#steerRun", "cancel-all#cancelAllRuns", "undo#cancelAndUndo"],
  restart: ["undo#restartRun"],
  fork: ["fork#forkTyped"],
  redrive: ["redrive#redriveRun"],
  assign: ["assign#assignRun"],
  purge: ["purge#purgeRun", "purge#reportForgotten"],
  list: ["show#list"],
  agents: ["agent-list#listConfigured"],
  schedules: ["schedules#showSchedules", "steer-schedule#steerSchedule", "steer-schedule#started"],
  show: ["show#showRun"],
  timeline: ["show#showTimeline"],
  watch: ["show#watch", "wait#waitForRun"],
  ledger: ["show#showLedger"],
  cost: ["show#showCost"],
  diagnose: ["diagnose#diagnoseRun"],
  file: ["file#writeFileOf"],
  verify: ["verify#verifyRun", "verify#verifyFile"],
  snapshot: ["snapshot#showVersion"],
  replay: ["replay#replayRun", "replay#tellDamaged"],
  export: ["export#exportToFile"],
  pin: ["pin#pinRun"],
  checked: ["checked#checkOne", "checked#checkWholeStore"],
  restored: ["restored#fenceStore"],
  "memory list": ["memory#listEntries"],
  "memory search": ["memory#listEntries"],
  "memory show": ["memory#showOne"],
  "memory forget": ["memory-forget#forgetOne", "memory-forget#forgetAll"],
  "webhooks list": ["webhooks#showWebhooks"],
  "webhooks redeliver": ["webhooks#redeliverTyped"],
  "token create": ["token#createAccess"],
  "token list": ["token#listAccess"],
  "token revoke": ["token#revokeAccess"],
  "audit-log": ["audit-log#showAuditLog"],
  backup: ["backup#backUp"],
  restore: ["backup#restore"],
  chaos: ["chaos#print"],
  rollout: ["rollout#tell", "rollout#tellAll"],
  audit: ["audit#auditAgent"],
  doctor: ["doctor#doctor"],
  infra: ["infra#infra"],
  init: ["init#init"],
};

/** What prints for many commands; its callers are in the table. */
const SHARED = new Set([
  "accepted#reportAccepted",
  "accepted#reportRequested",
  "derived-command#performTyped",
  "program#runCommand",
]);

const PRINTS = /^(printDocument|printLines|reportAccepted|reportRequested)$/;

/** Each call that prints, by the function of the file that it is in. */
const calls = new Map();
for (const source of program.getSourceFiles()) {
  if (!source.fileName.startsWith(CLI)) continue;
  const visit = (node, top) => {
    const here = ts.isFunctionDeclaration(node) && node.parent === source ? (node.name?.text ?? "") : top;
    if (ts.isCallExpression(node) && ts.isIdentifier(node.expression) && PRINTS.test(node.expression.text)) {
      const key = `${relative(CLI, source.fileName)
        .replace(/^commands\/|\.ts$/g, "")
        .replace(/\.ts$/, "")}#${here}`;
      calls.set(key, [...(calls.get(key) ?? []), node]);
    }
    ts.forEachChild(node, (child) => visit(child, here));
  };
  visit(source, "");
}
const known = new Set(Object.values(PRINTED_BY).flat());
const wrong = [
  ...[...calls.keys()].filter((key) => !known.has(key) && !SHARED.has(key)).map((key) => `no command prints ${key}`),
  ...[...known].filter((key) => !calls.has(key)).map((key) => `${key} prints nothing`),
];
if (wrong.length > 0) throw new Error(wrong.join("\n"));

/** Any JSON, and what a run holds inside: that has the form of the version of cairn that wrote it. */
const OPAQUE = new Set(["Json", "State"]);

const defs = {};
const names = new Map();

/** The name under which a type is written once; null: it is written where it is. */
function nameOf(type) {
  const symbol = type.aliasSymbol ?? type.symbol;
  const own = symbol?.name ?? "__type";
  // An object that is made by leaving fields out has the name of its variable.
  const isAnonymous = !/^[A-Z]/.test(own) || (type.aliasTypeArguments ?? type.typeArguments ?? []).length > 0;
  const isOurs = symbol?.declarations?.some((each) => each.getSourceFile().fileName.startsWith(join(ROOT, "src")));
  if (isAnonymous || !isOurs || !(type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Union | ts.TypeFlags.Intersection)))
    return null;
  const taken = names.get(type);
  if (taken !== undefined) return taken;
  let name = own;
  for (let nth = 2; Object.hasOwn(defs, name); nth += 1) name = `${own}${nth}`;
  names.set(type, name);
  return name;
}

function schemaOf(type, stack = []) {
  const name = nameOf(type);
  if (OPAQUE.has(name)) return {};
  if (name === null) return stack.includes(type) ? {} : plainSchema(type, [...stack, type]);
  if (!Object.hasOwn(defs, name)) {
    defs[name] = {};
    defs[name] = plainSchema(type, [...stack, type]);
  }
  return { $ref: `#/$defs/${name}` };
}

function plainSchema(type, stack) {
  const { flags } = type;
  const F = ts.TypeFlags;
  if (flags & (F.Any | F.Unknown)) return {};
  if (flags & F.NonPrimitive) throw new Error("a command prints an `object`: say which fields it has");
  if (flags & F.Null) return { type: "null" };
  if (flags & F.StringLiteral || flags & F.NumberLiteral) return { const: type.value };
  if (flags & F.BooleanLiteral) return { const: checker.typeToString(type) === "true" };
  if (flags & (F.String | F.TemplateLiteral)) return { type: "string" };
  if (flags & F.Number) return { type: "number" };
  if (flags & F.Boolean) return { type: "boolean" };
  if (type.isUnion())
    return unionOf(
      type.types.filter((each) => !(each.flags & (F.Undefined | F.Void))),
      stack,
    );
  if (type.isIntersection() && type.types.some((each) => each.flags & F.StringLike)) return { type: "string" };
  if (checker.isTupleType(type) || checker.isArrayType(type)) {
    const items = checker.getTypeArguments(type);
    return { type: "array", items: items.length === 1 ? schemaOf(items[0], stack) : unionOf(items, stack) };
  }
  return objectOf(type, stack);
}

function unionOf(types, stack) {
  const schemas = types.map((each) => schemaOf(each, stack));
  const values = schemas.filter((each) => "const" in each).map((each) => each.const);
  const isBoolean = values.includes(true) && values.includes(false);
  const plain = values.filter((value) => !isBoolean || typeof value !== "boolean");
  const whole = [
    ...(isBoolean ? [{ type: "boolean" }] : []),
    ...(plain.length === 0 ? [] : [plain.length === 1 ? { const: plain[0] } : { enum: plain }]),
    ...schemas.filter((each) => !("const" in each)),
  ];
  const distinct = [...new Map(whole.map((each) => [JSON.stringify(each), each])).values()];
  return distinct.length === 1 ? distinct[0] : { anyOf: distinct };
}

function objectOf(type, stack) {
  const [properties, required] = [{}, []];
  for (const property of checker.getPropertiesOfType(type)) {
    const of = checker.getTypeOfSymbol(property);
    if (of.getCallSignatures().length > 0) continue;
    properties[property.name] = schemaOf(of, stack);
    const text = ts.displayPartsToString(property.getDocumentationComment(checker)).replaceAll("\n", " ");
    if (text !== "") properties[property.name] = { ...properties[property.name], description: text };
    const mayMiss = of.isUnion() && of.types.some((each) => each.flags & ts.TypeFlags.Undefined);
    if (!(property.flags & ts.SymbolFlags.Optional) && !mayMiss) required.push(property.name);
  }
  const index = checker.getIndexInfoOfType(type, ts.IndexKind.String);
  const others = index === undefined ? false : schemaOf(index.type, stack);
  return { type: "object", properties, required, additionalProperties: others };
}

/** The object with more fields. */
function extended(schema, more) {
  if (schema.$ref !== undefined) return extended(defs[schema.$ref.replace("#/$defs/", "")], more);
  if (schema.anyOf !== undefined) return { anyOf: schema.anyOf.map((each) => extended(each, more)) };
  const required = [...new Set([...schema.required, ...Object.keys(more)])];
  return { ...schema, properties: { ...schema.properties, ...more }, required };
}

/** The object without a field. */
function without(schema, field) {
  if (schema.$ref !== undefined) return without(defs[schema.$ref.replace("#/$defs/", "")], field);
  const { [field]: _, ...properties } = schema.properties;
  return { ...schema, properties, required: schema.required.filter((name) => name !== field) };
}

/** What a report adds to the document of its caller, by its own call that prints. */
function addedBy(report, ...names) {
  const [call] = calls.get(`accepted#${report}`);
  const type = checker.getTypeAtLocation(call.arguments[1]);
  return Object.fromEntries(names.map((name) => [name, schemaOf(checker.getTypeOfSymbol(type.getProperty(name)))]));
}
const SUPERVISOR = addedBy("reportRequested", "supervisor");
const ACCEPTED = { ...addedBy("reportAccepted", "by", "supervisor"), accepted: { const: true } };

/** What a call prints: one document, or each of its lines. */
function printed(call) {
  const how = call.expression.text;
  try {
    return printedAs(how, call);
  } catch (cause) {
    const { line } = call.getSourceFile().getLineAndCharacterOfPosition(call.getStart());
    const place = `${relative(ROOT, call.getSourceFile().fileName)}:${line + 1}`;
    throw new Error(`${place}: ${cause.message}`, { cause });
  }
}

function printedAs(how, call) {
  if (how === "printDocument") return { document: schemaOf(checker.getTypeAtLocation(call.arguments[1])) };
  if (how === "printLines") {
    const lines = checker.getTypeAtLocation(call.arguments[1]);
    return { line: schemaOf(checker.getIndexTypeOfType(lines, ts.IndexKind.Number)) };
  }
  const given = checker.getTypeAtLocation(call.arguments[2]).getProperty("document");
  const document = schemaOf(checker.getTypeOfSymbolAtLocation(given, call));
  return { document: extended(document, how === "reportAccepted" ? ACCEPTED : SUPERVISOR) };
}

const anyOf = (schemas) => {
  const distinct = [...new Map(schemas.map((each) => [JSON.stringify(each), each])).values()];
  return distinct.length === 1 ? distinct[0] : { anyOf: distinct };
};

const commands = {};
for (const [command, keys] of Object.entries(PRINTED_BY)) {
  const all = keys.flatMap((key) => calls.get(key)).map(printed);
  const [documents, lines] = [all.flatMap((each) => each.document ?? []), all.flatMap((each) => each.line ?? [])];
  commands[command] = {
    ...(documents.length > 0 && { document: anyOf(documents) }),
    ...(lines.length > 0 && { line: anyOf(lines) }),
  };
}
/** The command that is derived wholly prints the outcome of its operation. */
const health = program.getSourceFile(join(ROOT, "src/operations/health.operation.ts"));
const row = checker
  .getExportsOfModule(checker.getSymbolAtLocation(health))
  .find(({ name }) => name === "healthOperation");
const act = checker.getTypeOfSymbol(checker.getTypeOfSymbol(row).getProperty("run")).getCallSignatures()[0];
const outcome = schemaOf(checker.getAwaitedType(act.getReturnType()));
commands["health"] = { document: without(outcome, "kind") };

const STRINGS = Object.fromEntries(["code", "message", "why", "next"].map((name) => [name, { type: "string" }]));
const error = {
  type: "object",
  properties: { error: { type: "object", properties: STRINGS, required: Object.keys(STRINGS) } },
  required: ["error"],
  additionalProperties: false,
};
const $defs = Object.fromEntries(Object.entries(defs).toSorted(([a], [b]) => (a < b ? -1 : 1)));
const document = { $schema: "https://json-schema.org/draft/2020-12/schema", commands, error, $defs };
const page = readFileSync(join(ROOT, "docs/json.md"), "utf8");
const written = { "docs/json-schemas.json": schemasText(document), "docs/json.md": pageWith(page, document) };
for (const [path, text] of Object.entries(written)) {
  const file = join(ROOT, path);
  if (existsSync(file) && readFileSync(file, "utf8") === text) continue;
  if (process.argv.includes("--check")) {
    console.error(`${path} differs from what commands print: npm run json-schemas`);
    process.exitCode = 1;
  } else writeFileSync(file, text);
}
