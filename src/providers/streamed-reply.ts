/**
 * Reads the stream of an AI SDK model: reports each piece as it comes, and puts together the response that the same call
 * without a stream would have given.
 */
import {
  type LanguageModelV4Content,
  type LanguageModelV4GenerateResult,
  type LanguageModelV4StreamPart,
  UnsupportedFunctionalityError,
} from "@ai-sdk/provider";
import type { DeltaPart, Piece } from "../ports/delta-log.ts";
import { reportedError, errorWords } from "./reported-error.ts";

/** A stream that ended within its response, or that cannot be read. The request itself was accepted. */
export class BrokenStream extends Error {
  override readonly name = "BrokenStream";
  /** Whether the model had said anything. If so, its tokens were used, and nothing says how many. */
  readonly hasBegun: boolean;

  constructor(message: string, { hasBegun, cause }: { readonly hasBegun: boolean; readonly cause?: unknown }) {
    super(message, { cause });
    this.hasBegun = hasBegun;
  }
}

/** Throws `BrokenStream` if the stream ended too early; an error that the provider reports before any piece as it is. */
export async function readReply(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  onPiece: (piece: Piece) => void,
): Promise<LanguageModelV4GenerateResult> {
  const reply = new StreamedReply(onPiece);
  try {
    for await (const part of stream) reply.add(part);
  } catch (cause) {
    const { hasBegun } = reply;
    if (!hasBegun && (reportedError(cause) !== null || UnsupportedFunctionalityError.isInstance(cause))) throw cause;
    throw new BrokenStream(`the reply broke off: ${errorWords(cause)}`, { hasBegun, cause });
  }
  return reply.finished();
}

type Spoken = Extract<LanguageModelV4Content, { readonly type: "text" | "reasoning" }>;
type Metadata = NonNullable<Spoken["providerMetadata"]>;
type Finish = Extract<LanguageModelV4StreamPart, { readonly type: "finish" }>;

/** A part of the reply that is being said, and what is told of each of its pieces. */
interface Open {
  readonly told: Omit<DeltaPart, "text">;
  /** Null for the arguments of a call: the call itself follows. */
  readonly block: Spoken | null;
}

/** The response so far. */
class StreamedReply {
  readonly #onPiece: (piece: Piece) => void;
  readonly #content: LanguageModelV4Content[] = [];
  /** By kind and ID. A provider may use an ID again for its next part. */
  readonly #open = new Map<string, Open>();
  /** The calls that are being written, by their ID, with their arguments so far. */
  readonly #calls = new Map<string, { readonly toolName: string; input: string }>();
  #parts = 0;
  #isIncomplete = false;
  #finish: Finish | null = null;

  constructor(onPiece: (piece: Piece) => void) {
    this.#onPiece = onPiece;
  }

  /** Whether the model has said anything. */
  get hasBegun(): boolean {
    return this.#parts > 0 || this.#content.length > 0;
  }

  add(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case "text-start":
      case "text-delta":
      case "reasoning-start":
      case "reasoning-delta":
        return this.#say(part.type.startsWith("text") ? "text" : "reasoning", part);
      case "text-end":
      case "reasoning-end":
        this.#say(part.type === "text-end" ? "text" : "reasoning", part);
        return this.#end(part.type === "text-end" ? "text" : "reasoning", part.id);
      case "tool-input-start":
        // No tool of the agent is involved in a call that the provider executes itself.
        if (part.providerExecuted === true) return;
        this.#begin("call", part.id, part.toolName);
        this.#calls.set(part.id, { toolName: part.toolName, input: "" });
        return;
      case "tool-input-delta": {
        const call = this.#calls.get(part.id);
        if (call !== undefined) call.input += part.delta;
        return this.#tell(this.#open.get(keyOf("call", part.id)), part.delta);
      }
      case "tool-call":
        return this.#call(part);
      case "finish":
        this.#finish = part;
        return;
      case "error":
        throw part.error;
      case "raw":
        this.#isIncomplete ||= (part.rawValue as { type?: unknown } | null)?.type === "response.incomplete";
        return;
      case "tool-input-end":
        return this.#end("call", part.id);
      case "stream-start":
      case "response-metadata":
      case "ping":
        return;
      default:
        this.#content.push(part);
    }
  }

  finished(): LanguageModelV4GenerateResult {
    const { hasBegun } = this;
    if (this.#finish === null || isCutOff(this.#finish))
      throw new BrokenStream("the reply broke off before its end", { hasBegun });
    const { usage, finishReason } = this.#finish;
    const lost = [...this.#calls].map(([toolCallId, { toolName, input }]): LanguageModelV4Content => {
      return { type: "tool-call", toolCallId, toolName, input: input || UNWRITTEN };
    });
    const body = this.#isIncomplete ? { response: { body: { status: "incomplete" } } } : {};
    return { content: [...this.#content, ...lost], finishReason, usage, warnings: [], ...body };
  }

  /** A package may write `{}` for arguments that never came. Only what came counts. */
  #call(part: Extract<LanguageModelV4StreamPart, { readonly type: "tool-call" }>): void {
    const begun = this.#calls.get(part.toolCallId);
    this.#calls.delete(part.toolCallId);
    this.#content.push(begun?.input === "" && part.input === "{}" ? { ...part, input: "" } : part);
  }

  #say(
    kind: Spoken["type"],
    { id, delta = "", providerMetadata }: { id: string; delta?: string; providerMetadata?: Metadata },
  ): void {
    const open = this.#open.get(keyOf(kind, id)) ?? this.#begin(kind, id);
    const { block } = open;
    if (block === null) return;
    block.text += delta;
    // The last metadata of a part counts: a signature comes at its end.
    if (providerMetadata !== undefined) block.providerMetadata = providerMetadata;
    this.#tell(open, delta);
  }

  #begin(kind: DeltaPart["kind"], id: string, tool?: string): Open {
    const block: Spoken | null = kind === "call" ? null : { type: kind, text: "" };
    if (block !== null) this.#content.push(block);
    const open = { told: { kind, index: this.#parts, ...(tool === undefined ? {} : { tool }) }, block };
    this.#parts += 1;
    this.#open.set(keyOf(kind, id), open);
    return open;
  }

  #end(kind: DeltaPart["kind"], id: string): void {
    const open = this.#open.get(keyOf(kind, id));
    this.#open.delete(keyOf(kind, id));
    if (open !== undefined) this.#onPiece({ ...open.told, text: "", isLast: true });
  }

  #tell(open: Open | undefined, text: string): void {
    if (open !== undefined && text !== "") this.#onPiece({ ...open.told, text });
  }
}

/** A call whose arguments did not come is no call without arguments. */
const UNWRITTEN = "{";

/**
 * A provider may end a stream that it lost as if it were complete: it then says neither why nor how much. A stream that
 * ends without a reason is broken, though a whole reply without one counts: only there nothing can be missing.
 */
const isCutOff = ({ finishReason: { unified, raw }, usage }: Finish): boolean =>
  unified === "interrupted" || (unified === "other" && raw === undefined && usage.outputTokens.total === undefined);

const keyOf = (kind: DeltaPart["kind"], id: string): string => `${kind} ${id}`;
