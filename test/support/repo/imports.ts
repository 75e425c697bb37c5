import { dirname, join } from "node:path";
import { parseSync } from "rolldown/utils";

/** The imports of a module. */
export interface ModuleImports {
  readonly path: string;
  /** Paths of imported project files. */
  readonly files: readonly string[];
  /** Names of imported packages and built-in modules. */
  readonly packages: readonly string[];
}

const IMPORTING = new Set([
  "ImportDeclaration",
  "ImportExpression",
  "ExportAllDeclaration",
  "ExportNamedDeclaration",
  "TSImportType",
]);

/** Finds every import in a TypeScript source: static, dynamic, re-exports and type-only. */
export function readImports(path: string, source: string): ModuleImports {
  const { program, errors } = parseSync(path, source);
  const [error] = errors;
  if (error) throw new Error(`${path}: ${error.message}`);
  const specifiers = [...nodes(program)].flatMap((node) => sourceOf(node) ?? []);
  const [relative, bare] = partition(specifiers, (specifier) => specifier.startsWith("."));
  return { path, files: relative.map((specifier) => join(dirname(path), specifier)), packages: bare.map(packageOf) };
}

function partition<T>(values: readonly T[], test: (value: T) => boolean): [T[], T[]] {
  return [values.filter((value) => test(value)), values.filter((value) => !test(value))];
}

function packageOf(specifier: string): string {
  if (specifier.startsWith("node:")) return specifier;
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

type SyntaxNode = Record<string, unknown>;

function sourceOf(node: SyntaxNode): string | undefined {
  if (!IMPORTING.has(String(node["type"]))) return undefined;
  const source = node["source"];
  if (!isRecord(source)) return undefined;
  if (typeof source["value"] === "string") return source["value"];
  throw new Error("an import whose target is computed cannot be checked");
}

function* nodes(value: unknown): Generator<SyntaxNode> {
  if (Array.isArray(value)) for (const entry of value) yield* nodes(entry);
  if (!isRecord(value)) return;
  if (typeof value["type"] === "string") yield value;
  yield* nodes(Object.values(value));
}

function isRecord(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
