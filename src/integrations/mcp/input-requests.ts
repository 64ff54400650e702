/**
 * What a run asks a human, as elicitations of MCP, and the operations that their answers are. A gate is a choice with a
 * note; a question has the form of its schema, if MCP can show it, or else one field for JSON. Pure.
 */
import type { ElicitRequestFormParams, InputRequest, InputRequests } from "@modelcontextprotocol/server";
import type { RunDocument } from "../../client/client.ts";
import type { Json } from "../../core/json.ts";

type Gate = RunDocument["gates"][number];
type Wait = RunDocument["waits"][number];
type Form = ElicitRequestFormParams["requestedSchema"];
type Content = Readonly<Record<string, unknown>>;

/** What the client's human decided, as an operation on the run. */
export type McpDecision =
  | {
      readonly kind: "approve" | "deny";
      readonly gate: string;
      readonly note: string | null;
      readonly usd: number | null;
    }
  | { readonly kind: "answer"; readonly call: string; readonly result: Json };

type Asking = Pick<RunDocument, "gates" | "waits">;

/** The open gates and questions of the run, by keys that are used once in its life. */
export function inputRequestsOf({ gates, waits }: Asking): InputRequests {
  return Object.fromEntries([
    ...undecidedGates(gates).map((gate) => [gateKey(gate), elicitation(gateMessage(gate), gateForm(gate))]),
    ...openQuestions(waits).map((wait) => [waitKey(wait), elicitation(questionOf(wait), formOf(wait.schema).form)]),
  ]) as InputRequests;
}

/** The operations that these answers are. An answer without a choice, or to what is not open, is left out. */
export function decisionsIn(asking: Asking, responses: Readonly<Record<string, unknown>>): readonly McpDecision[] {
  const gates = asking.gates.flatMap((gate) => decisionOf(gate, responses[gateKey(gate)]));
  const answers = openQuestions(asking.waits).flatMap((wait) => {
    const content = acceptedIn(responses[waitKey(wait)]);
    const result = content === null ? undefined : formOf(wait.schema).read(content);
    return result === undefined ? [] : [{ kind: "answer" as const, call: wait.call, result }];
  });
  return [...gates, ...answers];
}

/** Who declines what a gate asks denies it. Who only closes the form has decided nothing. */
function decisionOf(gate: Gate, response: unknown): readonly McpDecision[] {
  if (gate.decided) return [];
  const content = acceptedIn(response);
  if (content === null) return actionOf(response) === "decline" ? [denied(gate.gate, null)] : [];
  const note =
    typeof content["note"] === "string" && content["note"] !== "" ? content["note"].slice(0, NOTE_MAX) : null;
  if (content["decision"] === "deny") return [denied(gate.gate, note)];
  if (content["decision"] !== "approve") return [];
  const usd = isBudget(gate) && typeof content["usd"] === "number" ? content["usd"] : null;
  return [{ kind: "approve", gate: gate.gate, note, usd }];
}

const denied = (gate: string, note: string | null): McpDecision => ({ kind: "deny", gate, note, usd: null });

export const undecidedGates = (gates: readonly Gate[]): readonly Gate[] => gates.filter(({ decided }) => !decided);

export const openQuestions = (waits: readonly Wait[]): readonly Wait[] =>
  waits.filter((wait) => wait.for === "answer" && !wait.answered);

export const gateKey = ({ gate }: Pick<Gate, "gate">): string => `gate:${gate}`;
/** A question is asked again, under the next number, if what came did not fit. */
export const waitKey = ({ call, asked }: Wait): string => `answer:${call}:${asked}`;

const isBudget = ({ tool }: Gate): boolean => tool === "budget";

const elicitation = (message: string, requestedSchema: Form): InputRequest => ({
  method: "elicitation/create",
  params: { mode: "form", message: message.slice(0, MESSAGE_MAX), requestedSchema },
});

const MESSAGE_MAX = 8_192;
const NOTE_MAX = 500;

const gateMessage = (gate: Gate): string =>
  isBudget(gate)
    ? `The run has spent its budget: ${gate.reason}. May it spend more?`
    : `Approve this call of ${gate.tool}? ${gate.reason}\n\n${JSON.stringify(gate.args, null, 2)}${parsedWords(gate)}`;

function parsedWords({ parsed }: Gate): string {
  if (parsed === null) return "";
  const dropped = parsed.dropped.length === 0 ? "" : `\n\nIt does not get: ${parsed.dropped.join(", ")}`;
  return `\n\nThe tool gets:\n\n${JSON.stringify(parsed.json, null, 2)}${dropped}`;
}

const gateForm = (gate: Gate): Form => ({
  type: "object",
  properties: {
    decision: { type: "string", title: "Decision", enum: ["approve", "deny"] },
    ...(isBudget(gate) && { usd: { type: "integer", title: "How many US dollars more", minimum: 1 } }),
    note: { type: "string", title: "Note", maxLength: NOTE_MAX },
  },
  required: ["decision"],
});

/** The question itself, where the arguments of the call have one. */
export function questionOf({ args, tool, refused }: Wait): string {
  const again = refused === null ? "" : `The answer before did not fit: ${refused}\n\n`;
  const question =
    typeof args === "object" && args !== null && "question" in args && typeof args["question"] === "string"
      ? args["question"]
      : `${tool}: ${JSON.stringify(args, null, 2)}`;
  return `${again}${question}`;
}

/** MCP shows one level of plain fields. */
const PLAIN = new Set(["string", "number", "integer", "boolean"]);
const FIELD = "answer";

const isPlain = (type: Json | undefined): boolean => typeof type === "string" && PLAIN.has(type);

interface Read {
  readonly form: Form;
  /** Undefined if the content has no answer. */
  readonly read: (content: Content) => Json | undefined;
}

function formOf(schema: Json): Read {
  const type = fieldsOf(schema)["type"];
  if (isPlain(type)) return oneField(schema, (value) => value as Json | undefined);
  const fields = fieldsOf(fieldsOf(schema)["properties"] ?? null);
  const isFlat = type === "object" && Object.values(fields).every((each) => isPlain(fieldsOf(each)["type"]));
  if (isFlat) return { form: schema as unknown as Form, read: (content) => content as Json };
  const asText = { type: "string", title: "Answer, as JSON" };
  return oneField(asText, (text) => (typeof text === "string" ? jsonIn(text) : undefined));
}

const oneField = (field: Json, read: (value: unknown) => Json | undefined): Read => ({
  form: { type: "object", properties: { [FIELD]: field }, required: [FIELD] } as unknown as Form,
  read: (content) => read(content[FIELD]),
});

/** Text that is no JSON is the answer itself. */
function jsonIn(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

const fieldsOf = (json: Json): Readonly<Record<string, Json>> =>
  typeof json === "object" && json !== null && !Array.isArray(json) ? (json as Readonly<Record<string, Json>>) : {};

const actionOf = (response: unknown): unknown =>
  typeof response === "object" && response !== null && "action" in response ? response.action : null;

function acceptedIn(response: unknown): Content | null {
  if (actionOf(response) !== "accept") return null;
  const { content } = response as { readonly content?: unknown };
  return typeof content === "object" && content !== null ? (content as Content) : null;
}
