/** The types of the installed `ai` whose properties `settings.test.ts` reads. Keys of a union are those of each member. */
import type { Tool, ToolLoopAgentSettings } from "ai";

type Context = Record<string, unknown>;

export type Setting = ToolLoopAgentSettings<unknown, Record<string, Tool>, Context>;

type KeysOf<T> = T extends unknown ? keyof T : never;

export type ToolProperty = { [K in KeysOf<Tool>]: true };
