import { NativeSelect } from "@mantine/core";
import type { ReactNode } from "react";
import type { Role } from "../../protocol/api-types.ts";

/** What each role may do, in the order of the roles. */
const ROLE_TEXTS: Readonly<Record<Role, string>> = {
  viewer: "reads assets, apps, deployments, usage and events",
  installer: "also registers and names assets, makes enrolment codes, reads logs",
  operator: "also deploys, updates and removes apps, changes SIMs",
  admin: "also removes assets, manages people and keys, reads the audit log",
};
const ROLES = Object.keys(ROLE_TEXTS) as readonly Role[];

interface Props {
  readonly value: Role;
  readonly onChange: (role: Role) => void;
  readonly label?: string;
  /** The roles to choose from; all by default. */
  readonly roles?: readonly Role[];
}

export function RoleSelect({ value, onChange, label = "Role", roles = ROLES }: Props): ReactNode {
  return (
    <NativeSelect
      label={label}
      description={`${value}: ${ROLE_TEXTS[value]}.`}
      inputWrapperOrder={["label", "input", "description", "error"]}
      data={[...roles]}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value as Role)}
    />
  );
}
