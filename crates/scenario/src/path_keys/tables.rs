//! What follows from a declaration of keys.

/// The keys in the order in which a `[[path.change]]` has them.
macro_rules! path_keys {
    (link { $($link_1:tt)* } path { $($path_1:tt)* } link { $($link_2:tt)* } path { $($path_2:tt)* }) => {
        table! {
            /// A link of the network.
            Link, read from LinkKeys {
                /// Its name, unlike that of any other link: `bottleneck` or that of a `[[link]]`.
                pub name: String,
                /// One-way propagation delay behind it, on top of the path's.
                pub delay: Span,
                /// Its rate: if that varies by a pattern, the one that a BDP is counted at.
                pub rate: Rate,
                /// How its rate varies, if it does.
                pub rate_pattern: Option<RatePattern>,
                /// How much waits in front of it, as it is written.
                pub buffer: Buffer,
                /// The same in packets or bytes, as the queue counts, at the start.
                pub limit: Limit,
                /// Its `[[link]]`, if it is not that of `[path]`.
                pub(crate) table: Option<Written<usize>>,
            }
            $($link_1)* $($link_2)*
        }

        table! {
            /// What the flows share: the bottleneck, and the way there and back.
            Path, read from PathKeys {
                /// It is the machine's own loopback, for runners that have one; for others what
                /// follows stands for it.
                pub loopback: bool,
                /// The bottleneck.
                pub link: Link,
                /// The two-way propagation delay, without queueing.
                pub rtt: Span,
                /// What changes in mid-run, in order of time. What else is here is the start.
                pub changes: Vec<Change>,
            }
            $($path_1)* $($path_2)*
        }

        change! { $($link_1)* $($path_1)* $($link_2)* $($path_2)* }
    };
}

/// One table: what it is once it is read, with `own` fields that are no plain keys, and its keys in
/// the file.
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
            /// Its keys as they are when nothing is written; what has no default is empty.
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
            /// What the table `at` says; fields that are no keys are left empty.
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
            /// Whether chance has a part in a value of these keys.
            fn draws(&self) -> bool {
                $(($random)(&self.$key))||*
            }

            /// The names of those keys that have not their default.
            fn altered(&self) -> impl Iterator<Item = &'static str> {
                let usual = $Model::default();
                let keys = [$((stringify!($key), self.$key != usual.$key),)*];
                keys.into_iter().filter_map(|(key, altered)| altered.then_some(key))
            }
        }
    };
}

/// The table of a change, of those keys that can.
macro_rules! change {
    ($(
        $(#[doc = $doc:tt])* $key:ident: $Read:ty => $Value:ty = $default:expr,
        random $random:expr $(, example $example:tt)? $(, changes $then:tt)?;
    )*) => {
        /// A change of the path in mid-run; none where it changes nothing.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Change {
            /// When; after the start and before the end.
            pub at: Span,
            /// [`Link::rate`] of the bottleneck from then on.
            pub rate: Option<Rate>,
            /// [`Path::rtt`] from then on.
            pub rtt: Option<Span>,
            /// [`Link::buffer`] of the bottleneck from then on, as it is written.
            pub buffer: Option<Buffer>,
            /// [`Link::limit`] of the bottleneck from then on.
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
            /// What the table `at` says; fields that are no keys are left empty.
            pub(crate) fn read(&self, at: &str, source: &Source) -> Result<Change, Error> {
                let mut change = Change::default();
                $(where_changes!($($then)? {
                    change.$key = self.$key.get(source, &key_of(at, stringify!($key)))?.map(Into::into);
                });)*
                Ok(change)
            }

            /// The keys that say something different, and what they say.
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
            /// Whether chance has a part in a value of these keys.
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

/// What is in braces, for a key that can change.
macro_rules! where_changes {
    ($then:tt { $($does:tt)* }) => { $($does)* };
    ({ $($does:tt)* }) => {};
}
