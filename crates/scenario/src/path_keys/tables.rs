//! The macros that expand the declarations of keys.

/// Declares the keys, in the order in which a `[[path.change]]` has them.
macro_rules! path_keys {
    (link { $($link_1:tt)* } path { $($path_1:tt)* } link { $($link_2:tt)* } path { $($path_2:tt)* }) => {
        table! {
            /// A link of the network.
            Link, read from LinkKeys {
                /// Unique name: `bottleneck`, or the name of a `[[link]]`.
                pub name: String,
                /// One-way propagation delay behind the link, in addition to the path's.
                pub delay: Span,
                /// Link capacity; with a rate pattern, the rate at which a BDP is computed.
                pub rate: Rate,
                /// Variation of the rate over time; `None` for a constant rate.
                pub rate_pattern: Option<RatePattern>,
                /// Limit of the queue in front of the link, as written in the file.
                pub buffer: Buffer,
                /// `buffer` at the start of the run, in packets or bytes as the queue counts.
                pub limit: Limit,
                /// Index of its `[[link]]` table; `None` for the link of `[path]`.
                pub(crate) table: Option<Written<usize>>,
            }
            $($link_1)* $($link_2)*
        }

        table! {
            /// The path that the flows share: the bottleneck, and the delays and impairments in
            /// both directions.
            Path, read from PathKeys {
                /// Whether the path is the machine's loopback, for runners that have one. Other
                /// runners use the values of the other fields.
                pub loopback: bool,
                /// The bottleneck.
                pub link: Link,
                /// Two-way propagation delay, without queueing.
                pub rtt: Span,
                /// Changes during the run, in order of time. The other fields hold the values at
                /// the start.
                pub changes: Vec<Change>,
            }
            $($path_1)* $($path_2)*
        }

        change! { $($link_1)* $($path_1)* $($link_2)* $($path_2)* }
    };
}

/// Declares one table: its struct in the model, with `own` fields that are no plain keys, and the
/// struct of its keys in the file.
macro_rules! table {
    (
        $(#[doc = $about:tt])* $Model:ident, read from $Keys:ident {
            $($(#[doc = $own_doc:tt])* $vis:vis $own:ident: $Own:ty,)*
        }
        $(
            $(#[doc = $doc:tt])* $key:ident: $Read:ty => $Value:ty = $default:expr,
            random $random:expr $(, example $example:tt)? $(, changes $then:tt)?;
        )*
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $Model {
            $($(#[doc = $own_doc])* $vis $own: $Own,)*
            $($(#[doc = $doc])* pub $key: $Value,)*
        }

        #[derive(Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(default)]
        pub(crate) struct $Keys {
            $(
                $(#[doc = $doc])*
                $(#[schemars(example = $example)])?
                pub(crate) $key: RawValue<$Read>,
            )*
        }

        impl Default for $Model {
            /// Returns all keys at their defaults; fields without a default are empty.
            fn default() -> $Model {
                $Model { $($own: Default::default(),)* $($key: $default,)* }
            }
        }

        impl Default for $Keys {
            fn default() -> $Keys {
                $Keys::from(&$Model::default())
            }
        }

        impl $Keys {
            /// Reads the keys of the table `at`; fields that are no keys are left empty.
            pub(crate) fn read(&self, at: &str, source: &Source) -> Result<$Model, Error> {
                Ok($Model {
                    $($key: self.$key.get(source, &key_of(at, stringify!($key)))?.into(),)*
                    ..$Model::default()
                })
            }
        }

        impl From<&$Model> for $Keys {
            fn from(model: &$Model) -> $Keys {
                $Keys { $($key: RawValue::of(&<$Read>::from(model.$key.clone())),)* }
            }
        }

        impl $Model {
            /// Returns whether the value of a key uses random numbers.
            fn draws(&self) -> bool {
                $(($random)(&self.$key))||*
            }

            /// Returns the names of the keys that differ from their defaults.
            fn altered(&self) -> impl Iterator<Item = &'static str> {
                let usual = $Model::default();
                let keys = [$((stringify!($key), self.$key != usual.$key),)*];
                keys.into_iter().filter_map(|(key, altered)| altered.then_some(key))
            }
        }
    };
}

/// Declares the table of a change, from the keys that can change during the run.
macro_rules! change {
    ($(
        $(#[doc = $doc:tt])* $key:ident: $Read:ty => $Value:ty = $default:expr,
        random $random:expr $(, example $example:tt)? $(, changes $then:tt)?;
    )*) => {
        /// A change of the path during the run; a property is `None` if it stays as it is.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Change {
            /// Time of the change, after the start and before the end of the run.
            pub at: Span,
            /// New [`Link::rate`] of the bottleneck.
            pub rate: Option<Rate>,
            /// New [`Path::rtt`].
            pub rtt: Option<Span>,
            /// New [`Link::buffer`] of the bottleneck, as written in the file.
            pub buffer: Option<Buffer>,
            /// New [`Link::limit`] of the bottleneck.
            pub limit: Option<Limit>,
            $($(#[doc = $then] pub $key: Option<$Value>,)?)*
            pub(crate) table: Written<usize>,
        }

        #[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(default)]
        pub(crate) struct ChangeKeys {
            $($(
                #[doc = $then]
                #[serde(skip_serializing_if = "Changed::is_none")]
                #[schemars(extend("x-default" = "unchanged"))]
                pub(crate) $key: Changed<$Read>,
            )?)*
        }

        impl ChangeKeys {
            /// Reads the keys of the table `at`; fields that are no keys are left empty.
            pub(crate) fn read(&self, at: &str, source: &Source) -> Result<Change, Error> {
                let mut change = Change::default();
                $(where_changes!($($then)? {
                    change.$key = self.$key.get(source, &key_of(at, stringify!($key)))?.map(Into::into);
                });)*
                Ok(change)
            }

            /// Returns the keys that the change sets, with their new values.
            pub(crate) fn given(&self) -> Vec<(&'static str, String)> {
                let mut given = Vec::new();
                $(where_changes!($($then)? {
                    given.extend(self.$key.show().map(|value| (stringify!($key), value)));
                });)*
                given
            }
        }

        impl From<&Change> for ChangeKeys {
            fn from(change: &Change) -> ChangeKeys {
                let mut keys = ChangeKeys::default();
                $(where_changes!($($then)? {
                    keys.$key = Changed::of(change.$key.clone().map(<$Read>::from));
                });)*
                keys
            }
        }

        impl Change {
            /// Returns whether a new value uses random numbers.
            fn draws(&self) -> bool {
                let mut draws = false;
                $(where_changes!($($then)? {
                    draws |= self.$key.as_ref().is_some_and($random);
                });)*
                draws
            }
        }
    };
}

/// Expands to the code in braces for a key that can change during the run, else to nothing.
macro_rules! where_changes {
    ($then:tt { $($does:tt)* }) => { $($does)* };
    ({ $($does:tt)* }) => {};
}
