/** Conditions of DynamoDB, as the adapter writes them. */
import type { TableItem } from "../../../src/adapters/aws/table/item.ts";

export interface Expressions {
  readonly ConditionExpression?: string;
  readonly UpdateExpression?: string;
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>>;
  readonly ExpressionAttributeValues?: Readonly<Record<string, TableItem[string]>>;
}

/** Evaluates a condition: comparisons, `IN`, `BETWEEN`, `begins_with`, `attribute_exists`, `NOT`, `AND`, `OR` and parentheses. */
export function holds(input: Expressions, item: TableItem | undefined): boolean {
  const { ConditionExpression, ExpressionAttributeNames: names = {}, ExpressionAttributeValues: values = {} } = input;
  if (ConditionExpression === undefined) return true;
  const tokens = tokensOf(ConditionExpression);
  let read = 0;
  const take = (): string => {
    read += 1;
    return tokens[read - 1] ?? "";
  };
  const operand = (token: string): string | number | undefined => {
    const value = token.startsWith("#") ? item?.[names[token] ?? ""] : values[token];
    if (value?.N !== undefined) return Number(value.N);
    // Lists and maps are compared as a whole.
    if (value?.L !== undefined || value?.M !== undefined) return JSON.stringify(value);
    return value?.S ?? (value?.BOOL === undefined ? undefined : String(value.BOOL));
  };
  const either = (): boolean => {
    let result = both();
    while (tokens[read] === "OR") result = (take(), both()) || result;
    return result;
  };
  const both = (): boolean => {
    let result = one();
    while (tokens[read] === "AND") result = (take(), one()) && result;
    return result;
  };
  const one = (): boolean => {
    const token = take();
    if (token === "NOT") return !one();
    if (token === "(") {
      const result = either();
      take();
      return result;
    }
    if (token === "begins_with") {
      const [, text, , prefix] = [take(), operand(take()), take(), operand(take()), take()];
      return typeof text === "string" && text.startsWith(String(prefix));
    }
    if (token.startsWith("attribute_")) {
      const [, name] = [take(), take(), take()];
      return (item?.[names[name] ?? ""] !== undefined) === (token === "attribute_exists");
    }
    const [left, operator] = [operand(token), take()];
    if (operator === "BETWEEN") {
      const [low, , high] = [operand(take()), take(), operand(take())];
      return compared(left, ">=", low) && compared(left, "<=", high);
    }
    if (operator === "IN") {
      const options: unknown[] = [];
      for (let next = take(); next !== ")"; next = take()) if (next.startsWith(":")) options.push(operand(next));
      return options.includes(left);
    }
    return compared(left, operator, operand(take()));
  };
  return either();
}

const tokensByText = new Map<string, readonly string[]>();

function tokensOf(expression: string): readonly string[] {
  const tokens = tokensByText.get(expression) ?? expression.match(/[#:]?\w+|<=|>=|<>|[=<>(),]/g) ?? [];
  tokensByText.set(expression, tokens);
  return tokens;
}

function compared(left: string | number | undefined, operator: string, right: string | number | undefined): boolean {
  if (operator === "<>") return left !== right;
  // A comparison with a missing attribute is false.
  if (left === undefined || right === undefined) return false;
  if (operator === "=") return left === right;
  if (operator === "<") return left < right;
  if (operator === "<=") return left <= right;
  if (operator === ">") return left > right;
  if (operator === ">=") return left >= right;
  throw new Error(`this table does not know the operator ${operator}`);
}
