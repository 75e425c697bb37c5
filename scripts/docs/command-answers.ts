import { type ErrorCode, type ErrorEntry, ERRORS } from "../../src/protocol/errors/errors.ts";
import { openApiDocument } from "./openapi-document.ts";
import { resolveComponents } from "./resolve-components.ts";

interface Response {
  readonly headers?: object;
  readonly content?: Readonly<Record<string, { readonly examples?: object }>>;
}
interface Document {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly responses: Readonly<Record<string, Response>> }>>>
  >;
  readonly components: {
    readonly schemas: Readonly<Record<string, { readonly "x-retryable"?: readonly string[] }>>;
  };
}

/** Returns, as Markdown, what a program does by the response to a command, as the OpenAPI document has it. */
export async function commandAnswers(): Promise<string> {
  const { paths, components } = resolveComponents((await openApiDocument()) as Document);
  const retryable = new Set(components.schemas["ErrorCode"]?.["x-retryable"]);
  // A command to a device refuses with events, unless JSON is asked for.
  const commands = Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .filter(({ responses }) => "text/event-stream" in (responses["default"]?.content ?? {}));
  const refusals = new Set(commands.flatMap(({ responses }) => Object.values(responses).flatMap(codesOf)));
  const byAnswer = Map.groupBy(refusals, (code) => `${statusOf(code)} ${retryable.has(code) ? "yes" : "no"}`);
  const rows = [...byAnswer]
    .map(([answer, codes]) => ({ codes, status: Number.parseInt(answer, 10), again: answer.slice(4) }))
    .toSorted((a, b) => a.status - b.status)
    .map(
      ({ status, codes, again }) =>
        `| ${status} | ${listOf(codes)} | ${again} | ${again === "yes" ? pauseOf(status) : ""} |`,
    );
  const failures = Object.entries<ErrorEntry>(ERRORS).flatMap(([code, { endsDeployment }]) =>
    endsDeployment ? [code] : [],
  );
  const passing = failures.filter((code) => retryable.has(code));
  return [
    "| answer | code | again? | when |",
    "| --- | --- | --- | --- |",
    "| none: cut, or timed out | | yes | after a pause |",
    "| 202 | | | read `Location` every few seconds until `status` is not `Running` |",
    "| `status` is `Success` | | | |",
    `| \`status\` is \`Fail\` | ${listOf(passing)} | yes | after a pause: it begins another deployment |`,
    "| `status` is `Fail` | any other | no | |",
    ...rows,
  ].join("\n");
}

function codesOf({ content = {} }: Response): ErrorCode[] {
  const names = Object.keys(content["application/json"]?.examples ?? {});
  return names.filter((name): name is ErrorCode => name in ERRORS);
}

function statusOf(code: ErrorCode): number {
  return (ERRORS[code] as ErrorEntry).http ?? 500;
}

function pauseOf(status: number): string {
  return [409, 429, 503].includes(status) ? "after `Retry-After` seconds" : "after a pause";
}

function listOf(codes: readonly string[]): string {
  return codes.map((code) => `\`${code}\``).join(", ");
}
