import type { z } from "zod";
import type { Operations } from "../../protocol/api-types.ts";
import { usageFailure } from "../failure.ts";

/*
 * Requests are made for an operation of the API by its name, such as `GET /v1/assets/{asset_id}`. The types of the API, which are
 * generated from the service's schemas, decide what a request may consist of, and what a schema may read of its response.
 */

type OperationName = keyof Operations;
declare const RECEIVED: unique symbol;

/** A request of an operation. Made by `requestOf` only. */
export interface ApiRequest<Response = unknown, Message = unknown> {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Longest time until the whole response is there, in milliseconds. */
  readonly timeoutMs?: number;
  /** Exists for the compiler only. */
  readonly [RECEIVED]: { readonly response: Response; readonly message: Message };
}

/** A request of the operation with this name. */
type RequestOf<Name extends OperationName> = ApiRequest<Operations[Name]["response"], Operations[Name]["message"]>;

/** A value as a person gives it: any text where the service has names. The service says which it takes. */
type Given<T> = T extends string
  ? string
  : T extends readonly (infer Item)[]
    ? readonly Given<Item>[]
    : T extends object
      ? { [Key in keyof T]: Given<T[Key]> | (object extends Pick<T, Key> ? undefined : never) }
      : T;

/** The query of an operation. */
export type QueryOf<Name extends OperationName> = {
  readonly [Key in keyof Operations[Name]["query"]]: string | number | undefined;
};

/** The body of an operation's request. */
export type BodyOf<Name extends OperationName> = Given<Operations[Name]["body"]>;

type Part<Key extends string, Value> = [Value] extends [undefined]
  ? { readonly [key in Key]?: undefined }
  : { readonly [key in Key]: Value };

type RequestOptions<Name extends OperationName> = {
  readonly query?: Operations[Name]["query"] extends undefined ? undefined : QueryOf<Name>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Longest time until the whole response is there, in milliseconds; 30 s if not given. */
  readonly timeoutMs?: number;
} & Part<"path", Operations[Name]["path"]> &
  Part<"body", BodyOf<Name>>;

type Arguments<Name extends OperationName> = [Operations[Name]["path"], Operations[Name]["body"]] extends [
  undefined,
  undefined,
]
  ? [options?: RequestOptions<Name>]
  : [options: RequestOptions<Name>];

/**
 * Makes a request. The values of its path are encoded, so that an identifier with a slash stays one segment. Errors: exit code 2
 * for a value that a URL would drop, such as `..`.
 */
export function requestOf<Name extends OperationName>(name: Name, ...[options]: Arguments<Name>): RequestOf<Name> {
  const [method = "", template = ""] = name.split(" ");
  const { path, query, ...rest } = (options ?? {}) as RequestOptions<OperationName>;
  const values: Readonly<Record<string, string>> = { ...path };
  const filled = template.replaceAll(/\{(\w+)\}/g, (_match, key: string) => encodeSegment(values[key] ?? ""));
  return { ...rest, method, path: filled, query: { ...query } } as RequestOf<Name>;
}

/** Encodes a value of a path as one segment. Errors: as `requestOf`. */
export function encodeSegment(segment: string): string {
  if (segment === "" || segment === "." || segment === "..") {
    throw usageFailure(`"${segment}" is not an identifier.`, "Give a serial number, SIM SID, ICCID or UUID.");
  }
  if (!segment.isWellFormed()) throw usageFailure("An identifier holds characters that are not valid Unicode.");
  return encodeURIComponent(segment);
}

/** The keys of an object, or of each of several, without those that stand for any key. */
type KeysOf<T> = T extends unknown
  ? keyof { [Key in keyof T as string extends Key ? never : Key]: unknown } & string
  : never;
type ValueOf<T, Key extends PropertyKey> = T extends unknown ? (Key extends keyof T ? T[Key] : undefined) : never;

/** The fields that a schema takes and the response does not have, or has with a value that the schema refuses; `never`: none. */
type Amiss<Taken, Sent, Path extends string = "response"> = unknown extends Taken
  ? never
  : | (Exclude<Sent, object> extends Taken ? never : Path)
    | AmissInside<Extract<Taken, object>, Extract<Sent, object>, Path>;

type AmissInside<Taken, Sent, Path extends string> = [Sent] extends [never]
  ? [Taken] extends [never]
    ? never
    : Path
  : [Sent] extends [readonly (infer SentItem)[]]
    ? [Taken] extends [readonly (infer Item)[]]
      ? Amiss<Item, SentItem, `${Path}[]`>
      : Path
    : | {
          [Key in KeysOf<Taken>]: Key extends KeysOf<Sent>
            ? Amiss<ValueOf<Taken, Key>, ValueOf<Sent, Key>, `${Path}.${Key}`>
            : `${Path}.${Key}`;
        }[KeysOf<Taken>]
      | (string extends keyof Taken ? Amiss<Taken[string & keyof Taken], Sent[keyof Sent], `${Path}[key]`> : never);

/** Whether a schema fits one of several responses alone. */
type FitsOne<Taken, Sent> = Sent extends unknown ? ([Amiss<Taken, Sent>] extends [never] ? true : never) : never;

/**
 * Nothing, if a schema takes each response of the operation, or each of one kind, and no field that these do not have; otherwise
 * says what is amiss.
 */
export type Fits<Schema extends z.ZodType, Response> = [Amiss<z.input<Schema>, Response>] extends [never]
  ? unknown
  : true extends FitsOne<z.input<Schema>, Response>
    ? unknown
    : { readonly amiss: Amiss<z.input<Schema>, Response> };
