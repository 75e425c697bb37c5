import { fastify } from "fastify";
import { expect, test } from "vitest";
import type { Api } from "../../../src/control-plane/api/context.ts";
import { trackPermissions } from "../../../src/control-plane/api/permission-table.ts";
import { ENDPOINT_PERMISSIONS } from "../../../src/control-plane/core/people/endpoint-permissions.ts";
import { startControlPlane } from "../../support/control-plane.ts";
import { readDocument } from "../../support/openapi/read-document.ts";

const OTHER_PATHS = new Set(["/healthz", "/readyz"]);

test("the table of permissions lists every endpoint of the document, and no other", async () => {
  await using controlPlane = await startControlPlane({ config: { legacy_removal_at: "2099-01-01T00:00:00Z" } });
  const { paths } = await readDocument(controlPlane.url);
  const endpoints = Object.entries(paths)
    .filter(([path]) => !OTHER_PATHS.has(path))
    .flatMap(([path, operations]) =>
      Object.keys(operations)
        .filter((method) => method !== "parameters")
        .map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`),
    );
  expect(endpoints.toSorted()).toEqual(Object.keys(ENDPOINT_PERMISSIONS).toSorted());
});

test("a server with an endpoint that is not in the table is not built", async () => {
  await using api = fastify() as unknown as Api;
  const requirePermissions = trackPermissions(api);
  api.get("/v1/assets", () => "");
  requirePermissions();
  api.get("/v1/forgotten", () => "");
  expect(requirePermissions).toThrow("no permission is defined for GET /v1/forgotten");
});
