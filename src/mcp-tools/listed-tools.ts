/** The tools of an MCP server as tools of an agent: which of them, under which names, and with which effect classes. */
import type { Tool as Definition } from "@modelcontextprotocol/client";
import { EFFECTS, type Effect } from "../core/calls/effects.ts";
import { NEXT_MESSAGE } from "../core/calls/next-message.ts";
import { READ_RESULT } from "../core/calls/stored-values.ts";
import { isName } from "../core/ids.ts";
import type { Tool } from "../ports/agent.ts";
import { tool } from "../sdk/define.ts";
import { callServer } from "./call.ts";
import { type Connection, ServerUnreachable } from "./connection.ts";
import { READ_RESOURCE, readingTool } from "./linked-resources.ts";
import type { Options } from "./server-options.ts";
import * as z from "zod";
import { sentenceOf } from "../codec/value.ts";

/** A list of a server, and the tools that were made of it. */
export interface ListedTools {
  readonly definitions: readonly Definition[];
  readonly tools: Readonly<Record<string, Tool>>;
  /** Tools of the list that no agent gets, each with the reason. */
  readonly leftOut: readonly { readonly tool: string; readonly why: string }[];
}

export interface Server extends Options {
  readonly label: string;
  readonly prefix: string;
  readonly connection: Connection;
}

const DESCRIPTION_CHARACTERS_MAX = 8_000;
/** Names that mean something to the engine. */
const OF_CAIRN: ReadonlySet<string> = new Set([READ_RESULT, NEXT_MESSAGE]);

/**
 * A tool whose name is none here, or is that of an earlier tool, is left out, and so is one with an unusable schema. A tool
 * that has not changed stays the same object. `only` leaves out what the user does not want, so that needs no reason.
 */
export async function listedTools(
  server: Server,
  definitions: readonly Definition[],
  before: ListedTools | null,
): Promise<ListedTools> {
  const { only, prefix } = server;
  const tools: Record<string, Tool> = {};
  const names = new Map<string, string>();
  const leftOut: { tool: string; why: string }[] = [];
  for (const definition of definitions) {
    const name = `${prefix}${definition.name.replaceAll(/[^\w-]/g, "_")}`;
    const isWanted = only?.includes(definition.name) ?? true;
    if (!isWanted) continue;
    const why = wrongWithName(name, names.get(name));
    if (why !== null) {
      leftOut.push({ tool: definition.name, why });
      continue;
    }
    const known = before?.definitions.find((each) => each.name === definition.name);
    const isSame = known !== undefined && JSON.stringify(known) === JSON.stringify(definition);
    const made = (isSame ? before?.tools[name] : undefined) ?? (await toolOf(server, definition));
    if (typeof made === "string") {
      leftOut.push({ tool: definition.name, why: made });
      continue;
    }
    tools[name] = made;
    names.set(name, definition.name);
  }
  const reader = `${prefix}${READ_RESOURCE}`;
  const mayRead = server.connection.hasResources && (only?.includes(READ_RESOURCE) ?? true);
  const reads = mayRead && wrongWithName(reader, names.get(reader)) === null;
  if (reads) {
    const approval = declaredFor(server.approval, READ_RESOURCE) ?? "never";
    tools[reader] = readingTool(server, { tools: [...names.keys()], approval });
  }
  const known = new Set([...definitions.map(({ name }) => name), ...(reads ? [READ_RESOURCE] : [])]);
  return { definitions, tools, leftOut: [...leftOut, ...absentIn(server, known)] };
}

/** What options name and the server does not have, such as a tool by the name that the model sees. */
function absentIn(
  { only = [], effects, approval, loops, prefix }: Server,
  known: ReadonlySet<string>,
): ListedTools["leftOut"] {
  const named = new Map(
    Object.entries({ loops, effects, approval }).flatMap(([option, declared = {}]) =>
      Object.keys(declared).map((tool) => [tool, option] as const),
    ),
  );
  for (const tool of only) named.set(tool, "only");
  return [...named].flatMap(([tool, option]) => {
    if (known.has(tool)) return [];
    const bare = tool.startsWith(prefix) ? tool.slice(prefix.length) : tool;
    const meant = known.has(bare) ? `: write ${JSON.stringify(bare)}, as the server names it` : "";
    return [{ tool, why: `${option} names it, and the server has no such tool${meant}` }];
  });
}

const NAME_CHARACTERS_MAX = 64;

/** Why a tool cannot have that name; null: it can. `taken`: the name at the server of the tool that has it. */
function wrongWithName(name: string, taken: string | undefined): string | null {
  if (name.length > NAME_CHARACTERS_MAX) {
    return `its name has ${name.length} characters with its prefix, and ${NAME_CHARACTERS_MAX} are allowed: set a shorter prefix`;
  }
  if (!isName(name)) return `${JSON.stringify(name)} is no name of a tool`;
  if (OF_CAIRN.has(name)) return `${name} is a name of cairn: set another prefix`;
  return taken === undefined ? null : `its tool ${taken} has the name ${name} already`;
}

/** Or why its input cannot be described to a model. */
async function toolOf(server: Server, definition: Definition): Promise<Tool | string> {
  const input = await inputTypeOf(definition.inputSchema);
  if (typeof input === "string") return `its inputSchema cannot be used: ${input}`;
  const { name, description = "" } = definition;
  const effect = effectOf(server, definition);
  const approval = declaredFor(server.approval, name) ?? "never";
  const loops = declaredFor(server.loops, name);
  return {
    ...tool({
      input,
      effect,
      approval,
      timeoutMs: server.timeoutMs ?? null,
      description: description.slice(0, DESCRIPTION_CHARACTERS_MAX),
      ...(EFFECTS[effect].mayRepeat && { retry: RETRY }),
      ...(loops !== undefined && { loops }),
      run: (context) => callServer({ ...server, effect }, definition, context),
    }),
    isListed: true,
    suggests: suggestionsFor(server, definition, { effect, approval }),
  };
}

/** Only where nothing was sent: another try needs another connection. */
const RETRY = { attempts: 3, backoffMs: 1_000, when: (error: unknown) => error instanceof ServerUnreachable };

/** A server may name a tool `constructor`. */
const declaredFor = <Value>(declared: Readonly<Record<string, Value>> | undefined, name: string): Value | undefined =>
  declared !== undefined && Object.hasOwn(declared, name) ? declared[name] : undefined;

/** A hint of the server may make a call repeatable only if it says that the call changes nothing. */
function effectOf({ effects }: Server, { name, annotations }: Definition): Effect {
  return declaredFor(effects, name) ?? (annotations?.readOnlyHint === true ? "none" : "unsafe");
}

/** What hints of the server would allow, if the user knows that they are true. */
function suggestionsFor(
  { label, effects = {} }: Server,
  { name, annotations = {} }: Definition,
  { effect, approval }: { readonly effect: Effect; readonly approval: "never" | "always" },
): readonly string[] {
  const isChosen = Object.hasOwn(effects, name);
  const says = `${label} says that ${name}`;
  const mayRepeat =
    !isChosen && !EFFECTS[effect].mayRepeat && annotations.idempotentHint === true
      ? [
          `${says} is idempotent: if a repetition writes the same value, write effects: { ${JSON.stringify(name)}: ` +
            `"idempotent" }; if it deduplicates by the key in _meta, "keyed"`,
        ]
      : [];
  const asks =
    EFFECTS[effect].actsOutside && approval === "never" && annotations.destructiveHint === true
      ? [`${says} may destroy something: write approval: { ${JSON.stringify(name)}: "always" }`]
      : [];
  return [...mayRepeat, ...asks];
}

/**
 * The input of an MCP tool. Its JSON Schema is shown to the model as it is, and arguments are checked with the
 * validator that the SDK brings, so nothing of it is lost in a translation. A text says why the schema cannot be used:
 * the server could still be called, but the model would not know how.
 */
async function inputTypeOf(schema: Readonly<Record<string, unknown>>): Promise<z.ZodType | string> {
  const { type = "object" } = schema;
  if (![type].flat().includes("object")) return `it is of type ${JSON.stringify(type)}, and arguments are an object`;
  const { AjvJsonSchemaValidator } = await import("@modelcontextprotocol/client/validators/ajv");
  try {
    const validate = new AjvJsonSchemaValidator().getValidator(schema);
    const { $schema: _, id: _id, ...shown } = schema;
    const input = z
      .looseObject({})
      .superRefine((value, context) => {
        const judged = validate(value);
        if (!judged.valid) context.addIssue({ code: "custom", message: judged.errorMessage });
      })
      .meta({ additionalProperties: true, ...shown, type: "object" });
    z.toJSONSchema(input, { io: "input", target: "draft-7" });
    return input;
  } catch (error) {
    return sentenceOf(error);
  }
}
