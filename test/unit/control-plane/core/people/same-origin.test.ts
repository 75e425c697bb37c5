import fc from "fast-check";
import { expect, test } from "vitest";
import { findCrossSiteProblem, type RequestOrigin } from "../../../../../src/control-plane/core/people/same-origin.ts";

const OWN = ["https://control.example.com", "http://127.0.0.1:8080"];
const PAGE: RequestOrigin = {
  method: "POST",
  fetchSite: "same-origin",
  origin: "https://control.example.com",
  contentType: "application/json",
  hasBody: true,
};
const problemOf = (fields: Partial<RequestOrigin>) => findCrossSiteProblem({ ...PAGE, ...fields }, OWN);

test.each([
  ["a page of the console", {}],
  ["JSON with a charset", { contentType: "application/json; charset=utf-8" }],
  ["an old browser", { fetchSite: undefined }],
  ["an old browser at another address of the service", { fetchSite: undefined, origin: "http://127.0.0.1:8080" }],
  ["a removal without a body", { method: "DELETE", hasBody: false, contentType: undefined }],
  ["a link on another site", { method: "GET", fetchSite: "cross-site", origin: undefined }],
] as const)("serves %s", (_, fields) => {
  expect(problemOf(fields)).toBeUndefined();
});

test.each([
  ["another site", { fetchSite: "cross-site", origin: "https://evil.example" }, "site"],
  ["a sibling site", { fetchSite: "same-site", origin: "https://www.example.com" }, "site"],
  ["an address typed by the user", { fetchSite: "none" }, "site"],
  ["a site that claims this origin", { fetchSite: "cross-site" }, "site"],
  ["neither header", { fetchSite: undefined, origin: undefined }, "site"],
  ["a sandboxed frame", { fetchSite: undefined, origin: "null" }, "site"],
  ["another port", { fetchSite: undefined, origin: "http://127.0.0.1:8081" }, "site"],
  ["another scheme", { fetchSite: undefined, origin: "http://control.example.com" }, "site"],
  ["a longer name", { fetchSite: undefined, origin: "https://control.example.com.evil.example" }, "site"],
  ["a form", { contentType: "application/x-www-form-urlencoded" }, "body"],
  ["a form that looks like JSON", { contentType: "text/plain" }, "body"],
  ["a type that only begins like JSON", { contentType: "application/jsonp" }, "body"],
  ["a body without a type", { contentType: undefined }, "body"],
] as const)("refuses %s", (_, fields, problem) => {
  expect(problemOf(fields)).toBe(problem);
});

test("no unsafe request passes unless the browser says that it is of the same origin", () => {
  const headers = fc.record({
    method: fc.constantFrom("POST", "PUT", "PATCH", "DELETE", "post", "TRACE", "CONNECT", "X"),
    fetchSite: fc.option(fc.constantFrom("same-origin", "same-site", "cross-site", "none", ""), { nil: undefined }),
    origin: fc.option(fc.constantFrom(...OWN, "null", "", "https://evil.example"), { nil: undefined }),
    contentType: fc.option(fc.constantFrom("application/json", "text/plain"), { nil: undefined }),
    hasBody: fc.boolean(),
  });
  fc.assert(
    fc.property(headers, (request) => {
      if (findCrossSiteProblem(request, OWN) !== undefined) return;
      const isOwn = request.fetchSite === undefined && OWN.includes(request.origin ?? "");
      expect(request.fetchSite === "same-origin" || isOwn).toBe(true);
      if (request.hasBody) expect(request.contentType).toBe("application/json");
    }),
  );
});
