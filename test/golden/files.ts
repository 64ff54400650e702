/** Moments with files: of a task, a message, a call, the model and a result. */
import { foldAll } from "../../src/features/compose.ts";
import type { Event } from "../../src/core/event.ts";
import type { FileRef } from "../../src/core/file.ts";
import { AT, IN_PHASE, callPart, eventOf, newState, EVENT } from "../support/states/states-and-events.ts";
import type { Moment } from "./moment.ts";

const file: FileRef = {
  kind: "file",
  file: "ab".repeat(32),
  mediaType: "image/png",
  bytes: 12,
  name: "start.png",
};
const files = [file];
const running = IN_PHASE.ExecutingTools();
const result = { ...eventOf("ToolResultRecorded", "ExecutingTools"), files } as Event;
const begun = newState();
const withTaskFile = {
  ...begun,
  messages: begun.messages.map((each) => ({ ...each, parts: [...each.parts, file] })),
};
const message: Event = {
  ...{ kind: "MessageAbsorbed", at: AT, stage: "taken", message: "user#1" },
  body: { kind: "userFiles", text: "look", by: "ada", files },
};
const done = IN_PHASE.Reflecting();
const ended: Event = { kind: "RunEnded", at: AT, status: "completed", result: { kind: "inline", json: "it" }, files };

export const FILE_MOMENTS: readonly Moment[] = [
  { moment: "the task has a file", state: withTaskFile, events: [EVENT.started] },
  { moment: "a call is to return a file", state: running, events: [result] },
  { moment: "a call returned a file", state: foldAll(running, [result]), events: [message] },
  { moment: "a message brought a file", state: foldAll(running, [message]), events: [result] },
  {
    moment: "the model makes a file",
    state: foldAll(begun, [EVENT.started]),
    events: [EVENT.replied([file]), EVENT.replied([file, callPart("act")])],
  },
  { moment: "the result carries a file", state: done, events: [ended] },
  { moment: "the run ended with a file", state: foldAll(done, [ended]), events: [] },
];
