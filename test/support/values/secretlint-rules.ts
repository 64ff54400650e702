/** A maintained third-party rule set: returns which of its rules find a credential in a text. */
import { rules } from "@secretlint/secretlint-rule-preset-recommend";

interface MaintainedRule {
  readonly name: string;
  readonly finds: (text: string) => boolean;
  /** The pattern of a rule, from the error that the rule set throws for invalid input. */
  readonly patterns: readonly RegExp[];
}

type Creator = (typeof rules)[number];

const NO_CREDENTIALS: ReadonlySet<string> = new Set(["filter-comments"]);

export const MAINTAINED: readonly MaintainedRule[] = rules.flatMap((rule) => {
  const name = rule.meta.id.replace("@secretlint/secretlint-rule-", "");
  return NO_CREDENTIALS.has(name) ? [] : [{ name, finds: (text) => found(rule, text), patterns: patternsOf(rule) }];
});

function found(rule: Creator, content: unknown): boolean {
  let isFound = false;
  const createTranslator = () => (messageId: string) => ({ messageId, message: messageId });
  const context = { createTranslator, report: () => (isFound = true), ignore: () => undefined };
  const { file } = rule.create(context as never, {} as never);
  void file?.({ content, filePath: "a.txt", ext: ".txt", contentType: "text" } as never);
  return isFound;
}

function patternsOf(rule: Creator): readonly RegExp[] {
  const patterns: RegExp[] = [];
  const matchAll = (pattern: RegExp): readonly never[] => (patterns.push(pattern), []);
  found(rule, { matchAll });
  return patterns;
}
