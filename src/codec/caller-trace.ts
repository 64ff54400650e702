/**
 * The trace of a caller, from the headers `traceparent` and `tracestate` of the W3C's Trace Context. As the
 * specification asks, what is malformed is ignored: it refuses no request and changes no answer.
 */
/** What a request says of the span on whose behalf it is sent: the headers of the W3C's Trace Context. */
export interface TraceHeaders {
  readonly traceparent: string;
  readonly tracestate?: string;
}

/** A later version may add fields behind these. */
const PARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const ALL_ZEROS = /^0+$/;

const MEMBERS_MAX = 32;
/** The specification asks that so much is passed on. Members of over 128 characters go first. */
const STATE_MAX = 512;
const MEMBER_LONG = 128;
const MEMBER =
  /^(?:[a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})=[ -+\--<>-~]{0,255}[!-+\--<>-~]$/;

/** Null: there is none, or it is malformed. Flags but the one that says whether it is recorded are not kept. */
export function callerTraceIn(said: {
  readonly traceparent: string | null | undefined;
  readonly tracestate: string | null | undefined;
}): TraceHeaders | null {
  const [, version, trace = "", span = "", flags = "", more] = PARENT.exec(said.traceparent?.trim() ?? "") ?? [];
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined)) return null;
  if (ALL_ZEROS.test(trace) || ALL_ZEROS.test(span)) return null;
  const traceparent = `00-${trace}-${span}-0${Number.parseInt(flags, 16) % 2}`;
  const tracestate = stateIn(said.tracestate ?? "");
  return tracestate === "" ? { traceparent } : { traceparent, tracestate };
}

/** Empty if it is malformed: the parent holds without it. */
function stateIn(said: string): string {
  const members = said
    .split(",")
    .map((member) => member.replaceAll(/^[ \t]+|[ \t]+$/g, ""))
    .filter((member) => member !== "");
  const keys = new Set(members.map((member) => member.slice(0, member.indexOf("="))));
  const isSound = members.length <= MEMBERS_MAX && members.every((member) => MEMBER.test(member));
  if (!isSound || keys.size < members.length) return "";
  while (members.join(",").length > STATE_MAX) {
    const long = members.findLastIndex(({ length }) => length > MEMBER_LONG);
    members.splice(long === -1 ? members.length - 1 : long, 1);
  }
  return members.join(",");
}
