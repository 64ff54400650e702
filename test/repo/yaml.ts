/**
 * Reads the part of YAML that the workflows use: mappings and lists by indentation, lists of words in brackets, quoted and
 * plain texts, and comments on lines of their own. Anything else is an error, so that nothing is misread.
 */
export type Yaml = string | null | readonly Yaml[] | Mapping;
export interface Mapping {
  readonly [key: string]: Yaml;
}

interface Line {
  readonly indent: number;
  readonly text: string;
  readonly number: number;
}

export function parseYaml(text: string): Yaml {
  const rest = text.split("\n").flatMap((line, at): readonly Line[] => {
    const content = line.trim();
    if (content === "" || content.startsWith("#")) return [];
    return [{ indent: line.search(/\S/), text: content, number: at + 1 }];
  });
  const value = block(rest, 0);
  if (rest[0] !== undefined) throw unknown(rest[0]);
  return value;
}

/** Takes the mapping or list whose lines begin in that column from the front of the lines. */
function block(rest: Line[], indent: number): Yaml {
  if (rest[0]?.indent !== indent) return null;
  return rest[0].text.startsWith("- ") ? list(rest, indent) : mapping(rest, indent);
}

const KEY = /^([A-Za-z][\w-]*):(?: (.+))?$/;

function list(rest: Line[], indent: number): readonly Yaml[] {
  const items: Yaml[] = [];
  for (let line = rest[0]; line?.indent === indent && line.text.startsWith("- "); line = rest[0]) {
    // What follows the dash is the first line of a block that is two columns further in.
    const item = { ...line, indent: indent + 2, text: line.text.slice(2) };
    rest.shift();
    if (!KEY.test(item.text)) items.push(scalar(item, item.text));
    else {
      rest.unshift(item);
      items.push(mapping(rest, item.indent));
    }
  }
  return items;
}

function mapping(rest: Line[], indent: number): Mapping {
  const found: Record<string, Yaml> = {};
  for (let line = rest[0]; line?.indent === indent; line = rest[0]) {
    const [, key, value] = KEY.exec(line.text) ?? [];
    if (key === undefined || key in found) throw unknown(line);
    rest.shift();
    const below = rest[0]?.indent ?? 0;
    found[key] = value !== undefined ? scalar(line, value) : below > indent ? block(rest, below) : null;
  }
  return found;
}

function scalar(line: Line, text: string): Yaml {
  const [, words] = /^\[(.+)\]$/.exec(text) ?? [];
  if (words !== undefined) return words.split(",").map((each) => scalar(line, each.trim()));
  const [, quoted] = /^"([^"\\]*)"$/.exec(text) ?? [];
  if (quoted !== undefined) return quoted;
  if (/^[[\]{}&*!|>'"%@`?]|: |\s#/.test(text)) throw unknown(line);
  return text;
}

const unknown = ({ number, text }: Line): Error => new Error(`line ${number} is in no form that is read here: ${text}`);
