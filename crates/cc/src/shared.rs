//! State that the controllers of a group share: the subflows of one connection, or flows between
//! the same hosts.

use core::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::Config;

/// The shared state of one run, and of all groups in it.
///
/// A runner creates one for each run and passes it to every [`Descriptor::build`]. Runs in other
/// threads have their own, so a run depends only on its scenario and seed.
///
/// ```
/// use fullpipe_cc::{Config, Group, Registry, Shared};
///
/// #[derive(Debug, Default)]
/// struct Members(u32);
///
/// let cubic = Registry::default().get("cubic").expect("built in");
/// let phone = Config::defaults(cubic).in_group(Some("phone".to_owned()));
/// let shared = &mut Shared::default();
/// for _ in 0..2 {
///     let members: Group<Members> = shared.group(&phone);
///     members.lock().0 += 1;
/// }
/// assert_eq!(shared.group::<Members>(&phone).lock().0, 2);
/// ```
///
/// [`Descriptor::build`]: crate::Descriptor::build
#[derive(Debug, Default)]
pub struct Shared {
    /// State by its type and the name of the group, or without one that of the run.
    states: BTreeMap<(TypeId, Option<String>), Box<dyn Any + Send>>,
}

impl Shared {
    /// Returns the state of type `T` of the configuration's group. The first call for a group
    /// creates it. Without a group, each call returns new state.
    ///
    /// Groups are distinct for each `T`: algorithms with different state don't meet.
    pub fn group<T: Default + Send + 'static>(&mut self, config: &Config) -> Group<T> {
        match &config.group {
            Some(name) => self.state(Some(name.clone())),
            None => Group::default(),
        }
    }

    /// Returns the state of type `T` of the whole run, whatever the group.
    pub fn run<T: Default + Send + 'static>(&mut self) -> Group<T> {
        self.state(None)
    }

    fn state<T: Default + Send + 'static>(&mut self, group: Option<String>) -> Group<T> {
        self.states
            .entry((TypeId::of::<T>(), group))
            .or_insert_with(|| Box::new(Group::<T>::default()))
            .downcast_ref::<Group<T>>()
            .expect("the key has the type of the state")
            .clone()
    }
}

/// A controller's handle to the state of its group or run.
#[derive(Debug, Default)]
pub struct Group<T>(Arc<Mutex<T>>);

impl<T> Group<T> {
    /// Returns the state. The flows of a simulated run take turns, so the lock is always free; hold
    /// it only within one call of the contract.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Clone for Group<T> {
    fn clone(&self) -> Group<T> {
        Group(Arc::clone(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Registry;

    fn config(group: Option<&str>) -> Config {
        let descriptor = Registry::default().get("newreno").expect("built in");
        Config::defaults(descriptor).in_group(group.map(str::to_owned))
    }

    #[test]
    fn a_group_shares_its_state_with_no_other_group_type_or_run() {
        let (shared, phone) = (&mut Shared::default(), config(Some("phone")));
        *shared.group::<u32>(&phone).lock() = 7;
        assert_eq!(*shared.group::<u32>(&phone).lock(), 7);
        assert_eq!(*shared.group::<u32>(&config(Some("laptop"))).lock(), 0);
        assert_eq!(*shared.group::<u64>(&phone).lock(), 0);
        assert_eq!(*Shared::default().group::<u32>(&phone).lock(), 0);
        assert_eq!(*shared.run::<u32>().lock(), 0);
    }

    #[test]
    fn the_state_of_a_run_is_that_of_all_groups() {
        let shared = &mut Shared::default();
        *shared.run::<u32>().lock() = 7;
        assert_eq!(*shared.run::<u32>().lock(), 7);
        assert_eq!(*Shared::default().run::<u32>().lock(), 0);
    }

    #[test]
    fn a_flow_without_a_group_shares_nothing() {
        let shared = &mut Shared::default();
        *shared.group::<u32>(&config(None)).lock() = 7;
        assert_eq!(*shared.group::<u32>(&config(None)).lock(), 0);
    }
}
