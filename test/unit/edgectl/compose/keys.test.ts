import { describe, expect, test } from "vitest";
import { FILE_KEYS, FILE_SECTIONS, SERVICE_KEYS } from "../../../../src/edgectl/compose/keys.ts";
import { convert } from "../../../support/edgectl/compose.ts";

/** The keys of a service in the Compose specification. */
const SPECIFIED =
  "annotations attach blkio_config build cap_add cap_drop cgroup cgroup_parent command configs container_name cpu_count " +
  "cpu_percent cpu_period cpu_quota cpu_rt_period cpu_rt_runtime cpu_shares cpus cpuset credential_spec depends_on deploy " +
  "develop device_cgroup_rules devices dns dns_opt dns_search domainname entrypoint env_file environment expose extends " +
  "external_links extra_hosts gpus group_add healthcheck hostname image init ipc isolation label_file labels links logging " +
  "mac_address mem_limit mem_reservation mem_swappiness memswap_limit models network_mode networks oom_kill_disable " +
  "oom_score_adj pid pids_limit platform ports post_start pre_stop privileged profiles provider pull_policy " +
  "pull_refresh_after read_only restart runtime scale secrets security_opt shm_size stdin_open stop_grace_period " +
  "stop_signal storage_opt sysctls tmpfs tty ulimits use_api_socket user userns_mode uts volumes volumes_from working_dir";

describe("the table of keys", () => {
  test("has every key of a service in the specification, and ours", () => {
    const ours = Object.keys(SERVICE_KEYS).filter((key) => !key.startsWith("x-"));
    expect(ours).toEqual(SPECIFIED.split(" "));
  });

  test("has every key of a file in the specification", () => {
    const specified = ["configs", "include", "models", "name", "networks", "secrets", "services", "version", "volumes"];
    expect([...FILE_SECTIONS, ...Object.keys(FILE_KEYS)].toSorted()).toEqual(specified);
  });

  test.each(Object.entries(SERVICE_KEYS))("%s is never ignored in silence", (key, rule) => {
    const { apps, problems, notes } = convert(`services:\n  web:\n    image: w\n    ${key}: planted\n`);
    if ("note" in rule) expect(notes).toEqual([`4:5: services.web.${key} ${rule.note}`]);
    else if ("refusal" in rule)
      expect(problems).toEqual([`4:5: services.web.${key} ${[rule.refusal, rule.advice].join(" ").trim()}`]);
    else if ("means" in rule) expect(rule.means).not.toBe("");
    else {
      const isSet = rule.to.some((field) => apps["web"]?.[field] !== undefined);
      expect(isSet || problems.length > 0).toBe(true);
    }
  });
});
