import { describe, expect, it } from "vitest";
import {
  type DeployOptions,
  deployOptionsSchema,
  deployRequestSchema,
  type RegistryAuth,
  splitDeployRequest,
  updateRequestSchema,
} from "../../../src/protocol/apps/deploy-request.ts";

const auth = { username: "u", password: "p" } satisfies RegistryAuth;
const options = { registry_auth: auth, max_download_bytes: 1_000, urgent: true } satisfies DeployOptions;

describe("the body of a deploy or update request", () => {
  it("is a specification and the options of its deployment", () => {
    const body = { name: "app", image: "example/app:1", ...options };
    expect(splitDeployRequest(body)).toEqual({ options, spec: { name: "app", image: "example/app:1" } });
    expect(deployRequestSchema.parse(body)).toMatchObject(body);
    expect(updateRequestSchema.parse({ image: "example/app:2", ...options })).toEqual({
      image: "example/app:2",
      ...options,
    });
  });

  it.each([
    [{ registry_auth: { username: "u" } }],
    [{ registry_auth: { token: "" } }],
    [{ registry_auth: { ...auth, token: "t" } }],
    [{ max_download_bytes: -1 }],
    [{ urgent: "yes" }],
  ])("refuses the options %j", (wrong) => {
    expect(deployOptionsSchema.safeParse(wrong).success).toBe(false);
    expect(deployRequestSchema.safeParse({ name: "app", image: "a", ...wrong }).success).toBe(false);
  });
});
