import { Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { NavLink } from "react-router";
import { useSession } from "../api/session.ts";
import { Icon } from "../parts/icon.tsx";
import { PendingButton } from "../parts/pending-button.tsx";
import { SafeText } from "../parts/safe-text.tsx";
import { ColorSchemeSelect } from "./color-scheme-select.tsx";
import classes from "./navigation.module.css";
import { PAGES } from "./pages.ts";
import { useSignOut } from "../session/use-sign-out.ts";

/** The account, the pages that the person may see, and the person. */
export function Navigation({ onNavigate }: { readonly onNavigate?: () => void }): ReactNode {
  const { account, principal, role, permissions } = useSession();
  const signOut = useSignOut();
  const entries = Object.entries(PAGES).filter(
    ([, page]) => page.permission === undefined || permissions.includes(page.permission),
  );
  return (
    <div className={classes.navigation}>
      <Text size="sm" fw={600} className={classes.account}>
        <SafeText text={account.name} />
      </Text>
      <nav aria-label="Pages">
        <ul className={classes.list}>
          {entries.map(
            ([path, { navigation }]) =>
              navigation && (
                <li key={path}>
                  <NavLink to={path} className={classes.link ?? ""} onClick={onNavigate}>
                    <Icon name={navigation.icon} />
                    {navigation.label}
                  </NavLink>
                </li>
              ),
          )}
        </ul>
      </nav>
      <Stack gap="xs" className={classes.person}>
        <div>
          <Text size="sm" fw={600}>
            <SafeText text={principal.name} />
          </Text>
          <Text size="xs" c="dimmed">
            {role}
          </Text>
        </div>
        <PendingButton variant="default" size="xs" loading={signOut.isPending} onClick={() => signOut.mutate()}>
          Sign out
        </PendingButton>
        <ColorSchemeSelect />
      </Stack>
    </div>
  );
}
