import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ControlPlane, startControlPlane } from "../../support/control-plane.ts";
import { Conformance, type Exchange, type OpenApiDocument } from "../../support/openapi/conformance.ts";
import { readDocument } from "../../support/openapi/read-document.ts";

/** The check that every test of a control plane in its own process makes of each request and response. */

let control: ControlPlane;
let document: OpenApiDocument;
beforeAll(async () => {
  control = await startControlPlane();
  document = await readDocument(control.url);
});
afterAll(() => control[Symbol.asyncDispose]());

/** What the check finds wrong with a list of assets that has these things different. */
const answer = (fields: Partial<Exchange>): string[] =>
  new Conformance(document).problems({
    method: "GET",
    url: "/v1/assets",
    status: 200,
    contentType: "application/json; charset=utf-8",
    allow: undefined,
    headers: { "x-request-id": "r", ...(fields.allow !== undefined && { allow: fields.allow }) },
    requestHeaders: {},
    body: '{"assets":[],"next_cursor":null}',
    sent: "",
    ...fields,
  });

describe("the check of responses against the document", () => {
  const event = { status: "Running", message: "m", step: "pulling", deployment_id: "d", seq: 1, timestamp: 1 };
  const CHALLENGED = { "x-request-id": "r", "www-authenticate": "Bearer" };
  const METHOD = '{"code":"MethodNotAllowed","message":"m"}';
  const stream = { method: "POST", url: "/v1/assets/x/edge/apps", contentType: "text/event-stream" };

  test.each([
    ["a list", {}],
    ["an error", { status: 404, url: "/v1/assets/x", body: '{"code":"AssetNotFound","message":"Asset not found"}' }],
    [
      "a stream with a keep-alive",
      { ...stream, body: `data: ${JSON.stringify(event)}\n\n\ndata: ${JSON.stringify(event)}\n\n` },
    ],
    ["a request that the document allows", { url: "/v1/assets?limit=200&connected=true&q=a%20b" }],
    ["a method that the address does not have", { method: "PUT", status: 405, allow: "GET, POST", body: METHOD }],
    ["a body that the document allows", { ...stream, body: "", sent: '{"name":"a","image":"b"}' }],
    [
      "headers that the document lists",
      { headers: { "x-request-id": "r", etag: 'W/"a"' }, requestHeaders: { "if-none-match": '"a"' } },
    ],
    ["a refusal of any operation", { status: 401, headers: CHALLENGED, body: '{"code":"Unauthorized","message":"m"}' }],
    ["a stream that was cut", { ...stream, body: `data: ${JSON.stringify(event)}\n\ndata: {"sta` }],
  ])("passes %s", (_what, fields) => {
    expect(answer(fields)).toEqual([]);
  });

  test.each([
    ["a query parameter that the document lacks", { url: "/v1/assets?page=2" }],
    ["a value that it does not allow", { url: "/v1/assets?limit=201" }],
    ["a field of the request that it lacks", { ...stream, body: "", sent: '{"name":"a","image":"b","color":"red"}' }],
    ["a field too many", { body: '{"assets":[],"next_cursor":null,"total":0}' }],
    ["a field too few", { body: '{"assets":[]}' }],
    ["a wrong type", { contentType: "text/plain" }],
    ["no JSON", { body: "hello" }],
    ["a status the document does not have", { status: 418 }],
    ["a code the endpoint does not have", { status: 422, body: '{"code":"AssetHasNoSim","message":"m"}' }],
    ["a code of a refusal with another status", { status: 500, body: '{"code":"NotFound","message":"m"}' }],
    ["a refusal of any operation that is none", { status: 409, body: '{"code":"Conflict","message":"m"}' }],
    ["a success that it does not have", { status: 201 }],
    ["an address it does not have", { url: "/v2/assets" }],
    ["a method it does not have", { method: "PUT" }],
    ["a header that it lacks", { headers: { "x-request-id": "r", "x-total": "3" } }],
    ["a response without the id of the request", { headers: {} }],
    ["a refusal without a pause", { status: 429, body: '{"code":"TooManyRequests","message":"m"}' }],
    ["a header of the request that it lacks", { method: "POST", status: 201, requestHeaders: { "if-match": "*" } }],
    ["a parameter of the path that it does not allow", { url: "/v1/assets/x/sims/esim/usages", body: "{}" }],
    ["an event with a field missing", { ...stream, body: 'data: {"status":"Running"}\n\n' }],
    ["a line that is no event", { ...stream, body: ": comment\n\n" }],
  ])("finds %s", (_what, fields) => {
    expect(answer(fields)).not.toEqual([]);
  });
});
