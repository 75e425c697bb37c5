import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Fits, requestOf } from "../../../src/edgectl/api/request.ts";
import { Failure } from "../../../src/edgectl/failure.ts";

describe("a request of an operation", () => {
  test("has the method and the path of the operation, each value as one segment", () => {
    const path = { asset_id: "GW/1 ä", name: "node-red" };
    expect(requestOf("DELETE /v1/assets/{asset_id}/edge/apps/{name}", { path })).toEqual({
      method: "DELETE",
      path: "/v1/assets/GW%2F1%20%C3%A4/edge/apps/node-red",
      query: {},
    });
  });

  test.each(["", ".", "..", "\uD800"])("is not made with the value %j, which would change the path", (asset) => {
    expect(() => requestOf("GET /v1/assets/{asset_id}", { path: { asset_id: asset } })).toThrow(Failure);
  });

  test("takes what the operation takes: anything else does not compile", () => {
    const refused = [
      // @ts-expect-error -- no such operation
      () => requestOf("GET /v1/asset"),
      // @ts-expect-error -- no such parameter of the path
      () => requestOf("GET /v1/assets/{asset_id}", { path: { asset: "GW-1" } }),
      // @ts-expect-error -- no such parameter of the query
      () => requestOf("GET /v1/assets", { query: { state: "active" } }),
      // @ts-expect-error -- no such field of the body
      () => requestOf("POST /v1/api-keys", { body: { name: "ci", rolle: "viewer" } }),
      // @ts-expect-error -- a field of another type
      () => requestOf("POST /v1/api-keys", { body: { name: 1 } }),
    ];
    expect(refused).toHaveLength(5);
    // A name that this version does not know is the service's to refuse.
    expect(requestOf("POST /v1/api-keys", { body: { name: "ci", role: "auditor" } }).body).toEqual({
      name: "ci",
      role: "auditor",
    });
  });
});

interface Sent {
  readonly name: string;
  readonly since: number | null;
  readonly state?: "on" | "off";
  readonly ports: readonly { readonly port: number }[];
  readonly counts: Readonly<Record<string, number>>;
}

/** Compiles if the schema fits what is sent. */
function reads<Schema extends z.ZodType>(schema: Schema & Fits<Schema, Sent>): void {
  expect(schema).toBeDefined();
}

const since = z.number().nullable();

test("a schema takes a part of a response, with names of states as text", () => {
  reads(z.looseObject({ name: z.string(), since, state: z.string().optional() }));
  reads(z.looseObject({ ports: z.array(z.looseObject({ port: z.number() })).default([]) }));
  reads(z.looseObject({ counts: z.record(z.string(), z.number()) }));
});

test("a schema that a response does not fit does not compile", () => {
  // @ts-expect-error -- a field that is not sent
  reads(z.looseObject({ title: z.string() }));
  // @ts-expect-error -- also where it need not be there
  reads(z.looseObject({ title: z.string().optional() }));
  // @ts-expect-error -- also where what it is does not matter
  reads(z.looseObject({ title: z.string().optional().catch(undefined) }));
  // @ts-expect-error -- a field of another type
  reads(z.looseObject({ name: z.number() }));
  // @ts-expect-error -- may be null
  reads(z.looseObject({ since: z.number() }));
  // @ts-expect-error -- may be absent
  reads(z.looseObject({ state: z.string() }));
  // @ts-expect-error -- a field in a list
  reads(z.looseObject({ ports: z.array(z.looseObject({ host: z.number() })) }));
  // @ts-expect-error -- a list
  reads(z.looseObject({ ports: z.looseObject({ port: z.number() }) }));
  // @ts-expect-error -- values of another type
  reads(z.looseObject({ counts: z.record(z.string(), z.string()) }));
});

test("a response of several kinds fits a schema of one, or of all", () => {
  type Either = { readonly line: string } | { readonly error: { readonly code: string } };
  const either = <Schema extends z.ZodType>(schema: Schema & Fits<Schema, Either>): void => {
    expect(schema).toBeDefined();
  };
  const line = z.looseObject({ line: z.string() });
  either(line);
  either(z.union([line, z.looseObject({ error: z.looseObject({ code: z.string() }) })]));
  // @ts-expect-error -- no kind has it
  either(z.union([line, z.looseObject({ failure: z.looseObject({ code: z.string() }) })]));
});
