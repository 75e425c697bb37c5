import fc from "fast-check";
import { expect, test } from "vitest";
import { maySendCredentials } from "../../../../src/lib/registry/credential-scope.ts";

const may = (registry: string, server: string, authHosts: readonly string[] = []): boolean => {
  return maySendCredentials(registry, new URL(server), authHosts);
};

test.each([
  ["registry-1.docker.io", "https://auth.docker.io/token"],
  ["ghcr.io", "https://ghcr.io/token"],
  ["gcr.io", "https://gcr.io/v2/token"],
  ["quay.io", "https://quay.io/v2/auth"],
  ["registry.gitlab.com", "https://gitlab.com/jwt/auth"],
  ["registry.example.com", "https://gitlab.example.com/jwt/auth"],
  ["registry.example.com:5050", "https://example.com/jwt/auth"],
  ["registry.example.co.uk", "https://git.example.co.uk/jwt/auth"],
  ["company.azurecr.io", "https://company.azurecr.io/oauth2/token"],
  ["europe-docker.pkg.dev", "https://europe-docker.pkg.dev/v2/token"],
  ["company.jfrog.io", "https://company.jfrog.io/artifactory/api/docker/null/v2/token"],
  ["registry.connect.redhat.com", "https://sso.redhat.com/auth"],
  ["registry.digitalocean.com", "https://api.digitalocean.com/v2/registry/auth"],
  ["registry.cn-hangzhou.aliyuncs.com", "https://dockerauth.cn-hangzhou.aliyuncs.com/auth"],
  ["rg.fr-par.scw.cloud", "https://api.scaleway.com/registry-internal/v1/regions/fr-par/tokens"],
  ["REGISTRY.example.com", "https://registry.EXAMPLE.com:8443/token"],
  ["registry.example.com", "https://registry.example.com./token"],
  ["10.0.0.7:5000", "http://10.0.0.7:5001/auth"],
  ["[fd00::1]:5000", "https://[FD00:0::1]:8443/auth"],
  ["harbor", "https://harbor/service/token"],
])("%s may have its token server at %s", (registry, server) => {
  expect(may(registry, server)).toBe(true);
});

test.each([
  ["registry.example.com", "https://example.org/token"],
  ["registry.example.com", "https://registry.example.com.evil.example/token"],
  ["registry.example.com", "https://evilexample.com/token"],
  ["registry.example.com", "https://registry.example.com@evil.example/token"],
  ["company.azurecr.io", "https://stranger.azurecr.io/oauth2/token"],
  ["company.jfrog.io", "https://stranger.jfrog.io/token"],
  ["registry.example.co.uk", "https://registry.stranger.co.uk/token"],
  ["foo.co.uk", "https://evil.co.uk/token"],
  ["10.0.0.7:5000", "http://10.0.0.8:5000/auth"],
  ["10.0.0.7", "http://8.0.0.7/auth"],
  ["[fd00::1]", "https://[fd00::2]/auth"],
  ["harbor", "https://gitlab/token"],
  ["localhost:5000", "http://127.0.0.1:5000/token"],
  ["rg.fr-par.scw.cloud", "https://api.scaleway.com.evil.example/token"],
  ["rg.fr-par.scw.cloud", "https://other.scaleway.com/token"],
])("%s may not have its token server at %s", (registry, server) => {
  expect(may(registry, server)).toBe(false);
});

test("a listed host may, on the listed port or on all ports", () => {
  expect(may("a.example", "https://login.example.org/x", ["login.example.org"])).toBe(true);
  expect(may("a.example", "https://login.example.org:8443/x", ["LOGIN.example.org"])).toBe(true);
  expect(may("a.example", "https://login.example.org:8443/x", ["login.example.org:8443"])).toBe(true);
  expect(may("a.example", "https://login.example.org/x", ["login.example.org:443"])).toBe(true);
  expect(may("a.example", "https://login.example.org/x", ["login.example.org:8443"])).toBe(false);
  expect(may("a.example", "https://sub.login.example.org/x", ["login.example.org"])).toBe(false);
});

const label = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/);
const name = fc.array(label, { minLength: 2, maxLength: 4 }).map((labels) => labels.join("."));

const domain = (host: string): string => host.split(".").slice(-2).join(".");

test("no host outside the registry's own domain ever may", () => {
  fc.assert(
    fc.property(name, name, (own, other) => {
      fc.pre(domain(own) !== domain(other) && !(own.endsWith(".scw.cloud") && other === "api.scaleway.com"));
      expect(may(own, `https://${other}/token`)).toBe(false);
      expect(may(own, `https://${other}/token`, [own, `x.${other}`, `${other}:1`])).toBe(false);
    }),
  );
});
